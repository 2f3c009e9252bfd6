-- A topic of JSON records, declared once: fields, a computed column, Kafka's metadata, a watermark
CREATE TABLE orders (
  order_id BIGINT,
  customer_id INT,
  product STRING,
  price DECIMAL(10, 2),
  quantity INT,
  country STRING,
  total AS price * quantity,
  ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `partition` INT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = '${bootstrap}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
)
