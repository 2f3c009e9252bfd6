-- error: SCHEMA: WATERMARK FOR tss: there is no column 'tss'. Did you mean 'ts'?
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR tss AS tss) WITH ('connector' = 'kafka')
