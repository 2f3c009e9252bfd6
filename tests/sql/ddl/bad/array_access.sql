-- error: UNSUPPORTED_SQL: Computed column 'h': access by [...] has no translation: arrays count from 1 in Flink
CREATE TABLE t (a ARRAY<INT>, h AS a[1]) WITH ('connector' = 'kafka')
