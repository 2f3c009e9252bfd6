-- error: UNSUPPORTED_SQL: WATERMARK FOR ts AS COALESCE(ts, ts): Spark supports only the column minus a fixed delay
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS COALESCE(ts, ts)) WITH ('connector' = 'kafka')
