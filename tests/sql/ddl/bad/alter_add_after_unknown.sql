-- error: SCHEMA: Referenced column `x` by 'AFTER' does not exist in the table
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD b INT AFTER x;
