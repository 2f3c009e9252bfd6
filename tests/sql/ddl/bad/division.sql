-- error: UNSUPPORTED_SQL: Computed column 'h': operator / has no translation
CREATE TABLE t (a INT, h AS a / 2) WITH ('connector' = 'kafka')
