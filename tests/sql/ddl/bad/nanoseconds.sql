-- error: SCHEMA: Column 'ts': TIMESTAMP(9) cannot be carried: Spark keeps microseconds
CREATE TABLE t (ts TIMESTAMP(9)) WITH ('connector' = 'kafka')
