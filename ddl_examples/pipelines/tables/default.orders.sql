CREATE TABLE orders (
  order_id BIGINT,
  country STRING,
  price DECIMAL(10, 2),
  quantity INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
)
