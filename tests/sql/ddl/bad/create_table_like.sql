-- error: UNSUPPORTED_SQL: CREATE TABLE t: the clause LIKE is not supported
CREATE TABLE t (id INT) WITH ('connector' = 'kafka') LIKE s (INCLUDING ALL)
