-- error: UNSUPPORTED_SQL: CREATE TABLE t: the clause AS is not supported
CREATE TABLE t WITH ('connector' = 'kafka') AS SELECT 1
