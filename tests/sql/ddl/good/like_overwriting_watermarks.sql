CREATE TABLE base (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (WATERMARK FOR ts AS ts - INTERVAL '30' SECOND) LIKE base (OVERWRITING WATERMARKS);
