-- error: SCHEMA: Column 'ts': TIMESTAMP(9) is not supported: Spark has microseconds
CREATE TABLE t (ts TIMESTAMP(9)) WITH ('connector' = 'kafka')
