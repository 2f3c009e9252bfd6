-- error: SQL_SYNTAX: expected ',' or ')' after option 'connector'
CREATE TABLE t (id INT) WITH ('connector' = 'kafka' 'topic' = 'orders')
