-- error: UNSUPPORTED_SQL: ALTER TABLE ... DROP PARTITION
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP IF EXISTS PARTITION (a = 1);
