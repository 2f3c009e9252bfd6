-- error: SCHEMA: WATERMARK FOR p: A watermark can not be defined for a processing-time attribute
CREATE TABLE t (id INT, p AS (PROCTIME()), WATERMARK FOR p AS p - INTERVAL '5' SECOND) WITH ('connector' = 'kafka')
