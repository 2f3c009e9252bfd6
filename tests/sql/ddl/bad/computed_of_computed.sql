-- error: SCHEMA: Computed column 'c': column 'b' not found
CREATE TABLE t (a INT, b AS a + 1, c AS b + 1) WITH ('connector' = 'kafka')
