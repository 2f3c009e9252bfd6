-- error: SQL_SYNTAX: expected an option value in single quotes
CREATE TABLE t (id INT) WITH ('connector' = kafka)
