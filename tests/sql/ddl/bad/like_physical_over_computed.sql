-- error: SCHEMA: A column named 'two' already exists in the base table.
CREATE TABLE base (id BIGINT, two AS id * 2) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (two BIGINT) LIKE base;
