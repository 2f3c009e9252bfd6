CREATE TABLE events (ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR `ts` AS `ts`) WITH ('connector' = 'kafka')
