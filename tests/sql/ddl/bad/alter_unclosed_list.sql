-- error: SQL_SYNTAX: expected ',' or ')' in the list of ADD
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD (b INT;
