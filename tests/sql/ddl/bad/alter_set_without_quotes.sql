-- error: SQL_SYNTAX: expected an option key in single quotes
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t SET (topic = 'x');
