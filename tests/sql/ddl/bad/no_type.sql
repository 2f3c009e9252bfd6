-- error: SQL_SYNTAX: line 2, column 19: expected the type of column 'id'
CREATE TABLE t (id, name STRING) WITH ('connector' = 'kafka')
