CREATE TABLE t (id BIGINT, name STRING) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD category STRING COMMENT 'of the goods';
