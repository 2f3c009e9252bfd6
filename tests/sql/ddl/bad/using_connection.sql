-- error: UNSUPPORTED_SQL: the clause USING CONNECTION is not supported
CREATE TABLE t (a INT) USING CONNECTION c WITH ('connector' = 'kafka')
