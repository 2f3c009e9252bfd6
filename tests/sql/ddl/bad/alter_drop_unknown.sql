-- error: SCHEMA: ALTER TABLE t: The column `b` does not exist in the base table
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP b;
