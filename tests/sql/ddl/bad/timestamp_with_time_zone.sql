-- error: SCHEMA: Column 'ts': type TIMESTAMP(3) WITH TIME ZONE is not supported
CREATE TABLE t (ts TIMESTAMP(3) WITH TIME ZONE) WITH ('connector' = 'kafka')
