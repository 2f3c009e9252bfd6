-- error: SQL_SYNTAX: expected the type of column 'a'
CREATE TABLE t (a, b) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
