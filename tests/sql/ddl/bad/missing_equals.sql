-- error: SQL_SYNTAX: expected '=' after the option key after option 'connector'
CREATE TABLE t (id INT) WITH ('connector' = 'kafka', 'topic' 'orders')
