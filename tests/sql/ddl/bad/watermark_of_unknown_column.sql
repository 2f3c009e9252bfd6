-- error: SCHEMA: WATERMARK FOR tss: column 'tss' not found. Did you mean 'ts'?
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR tss AS tss) WITH ('connector' = 'kafka')
