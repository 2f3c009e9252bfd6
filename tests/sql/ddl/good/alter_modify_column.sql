CREATE TABLE t (id BIGINT, name STRING COMMENT 'kept', measurement INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY measurement DOUBLE NOT NULL COMMENT 'in bytes' AFTER id;
ALTER TABLE t MODIFY name VARCHAR(20);
