CREATE TABLE base (id BIGINT, name STRING) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (
  price DECIMAL(10, 2),
  total AS price * id,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  ts TIMESTAMP(3)
) COMMENT 'its own' WITH (
  'topic' = 'other'
) LIKE base;
