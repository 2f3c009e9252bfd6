-- error: UNSUPPORTED_SQL: UNIQUE constraint is not supported
CREATE TABLE t (id INT, UNIQUE (id)) WITH ('connector' = 'kafka')
