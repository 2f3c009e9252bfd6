-- error: SQL_SYNTAX: expected the end of the statement
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP WATERMARK, PRIMARY KEY;
