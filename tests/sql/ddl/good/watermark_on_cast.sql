CREATE TABLE events (
  at STRING,
  ts AS CAST(at AS TIMESTAMP(3)),
  WATERMARK FOR ts AS ts - INTERVAL '0.5' SECOND
) WITH ('connector' = 'kafka')
