-- error: SCHEMA: The column `a` is referenced by computed column `b`
CREATE TABLE t (a INT, b AS a + 1) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RENAME a TO c;
