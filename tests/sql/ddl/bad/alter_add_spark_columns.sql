-- error: SQL_SYNTAX: Flink's syntax is ADD name or ADD (name, ...)
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD COLUMNS (b INT);
