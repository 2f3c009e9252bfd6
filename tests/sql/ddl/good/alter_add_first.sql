CREATE TABLE t (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD `order` INT COMMENT 'its number' FIRST;
