CREATE TABLE t (a INT, h AS a / 2) WITH ('connector' = 'kafka')
