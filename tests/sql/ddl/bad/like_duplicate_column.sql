-- error: SCHEMA: LIKE: A column named 'id' already exists in the base table.
CREATE TABLE base (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (id STRING) LIKE base;
