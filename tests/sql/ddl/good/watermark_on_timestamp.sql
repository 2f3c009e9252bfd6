CREATE TABLE events (
  ts TIMESTAMP(3),
  other TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1:30' MINUTE TO SECOND
) WITH ('connector' = 'kafka')
