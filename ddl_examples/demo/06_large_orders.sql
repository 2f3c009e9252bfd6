-- A second topic
CREATE TABLE large_orders (
  order_id BIGINT,
  country STRING,
  total DECIMAL(12, 2)
) WITH (
  'connector' = 'kafka',
  'topic' = 'large-orders',
  'properties.bootstrap.servers' = '${bootstrap}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
)
