CREATE TABLE base (id BIGINT, name STRING) COMMENT 'not copied' WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy LIKE base;
