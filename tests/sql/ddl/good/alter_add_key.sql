CREATE TABLE t (id BIGINT, n INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD CONSTRAINT named PRIMARY KEY (id, n) NOT ENFORCED;
