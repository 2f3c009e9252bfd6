-- error: SQL_SYNTAX: expected '(' after SET
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t SET TBLPROPERTIES ('a' = 'b');
