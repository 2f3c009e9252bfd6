-- error: UNSUPPORTED_SQL: ALTER TABLE ... ADD PARTITION is not supported
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD PARTITION (p = '1');
