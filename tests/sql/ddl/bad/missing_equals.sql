-- error: SQL_SYNTAX: expected '=' after an option's key after the option 'connector'
CREATE TABLE t (id INT) WITH ('connector' = 'kafka', 'topic' 'orders')
