CREATE TABLE t (a INT, b INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP COLUMN b;
