-- error: SQL_SYNTAX: line 2, column 53: expected the end of the statement
CREATE TABLE t (id INT) WITH ('connector' = 'kafka'); SELECT 1
