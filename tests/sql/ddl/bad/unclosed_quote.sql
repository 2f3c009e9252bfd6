-- error: SQL_SYNTAX: unclosed quote; the missing quote may be earlier in the statement
CREATE TABLE t (id INT) WITH ('connector' = 'kafka)
