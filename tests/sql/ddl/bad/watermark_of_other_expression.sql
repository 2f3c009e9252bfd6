-- error: UNSUPPORTED_SQL: WATERMARK FOR ts AS COALESCE(ts, ts): Spark takes the column less a fixed delay only
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS COALESCE(ts, ts)) WITH ('connector' = 'kafka')
