-- error: SQL_SYNTAX: this quote, or one before it, is not closed
CREATE TABLE t (id INT) WITH ('connector' = 'kafka)
