-- error: SCHEMA: CREATE TABLE t declares no columns
CREATE TABLE t WITH ('connector' = 'kafka')
