CREATE TABLE t (ts TIMESTAMP_LTZ(3)) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD WATERMARK FOR ts AS ts - INTERVAL '3' SECOND;
