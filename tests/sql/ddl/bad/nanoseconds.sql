-- error: SCHEMA: Column 't': TIME(9) is not supported: Spark has microseconds
CREATE TABLE t (t TIME(9)) WITH ('connector' = 'kafka')
