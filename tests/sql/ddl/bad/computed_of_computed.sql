-- error: SCHEMA: Computed column 'c': there is no column 'b' that it can use
CREATE TABLE t (a INT, b AS a + 1, c AS b + 1) WITH ('connector' = 'kafka')
