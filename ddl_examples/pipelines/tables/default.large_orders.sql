CREATE TABLE large_orders (
  order_id BIGINT,
  total DECIMAL(20, 2)
) WITH (
  'connector' = 'kafka',
  'topic' = 'large-orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
)
