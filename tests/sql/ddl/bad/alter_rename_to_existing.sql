-- error: SCHEMA: The column `b` already existed in table schema
CREATE TABLE t (a INT, b INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RENAME a TO b;
