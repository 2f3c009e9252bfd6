-- error: SCHEMA: The base table has already defined the watermark strategy `ts` AS ts - INTERVAL '1' HOUR. You might want to drop it before adding a new one
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' HOUR) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD WATERMARK FOR ts AS ts;
