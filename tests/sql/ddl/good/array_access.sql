CREATE TABLE t (a ARRAY<INT>, h AS a[1]) WITH ('connector' = 'kafka')
