-- A third topic, for the results of a continuous query
CREATE TABLE revenue (
  window_start TIMESTAMP_LTZ(3),
  window_end TIMESTAMP_LTZ(3),
  country STRING,
  orders BIGINT,
  revenue DECIMAL(20, 2)
) WITH (
  'connector' = 'kafka',
  'topic' = 'revenue',
  'properties.bootstrap.servers' = '${bootstrap}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
)
