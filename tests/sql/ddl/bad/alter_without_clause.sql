-- error: SQL_SYNTAX: expected ADD, MODIFY, DROP, RENAME, SET or RESET
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RECOVER PARTITIONS;
