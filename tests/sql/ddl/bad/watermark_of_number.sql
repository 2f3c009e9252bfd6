-- error: SCHEMA: column 'ts' must be of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), but is BIGINT
CREATE TABLE t (ts BIGINT, WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka')
