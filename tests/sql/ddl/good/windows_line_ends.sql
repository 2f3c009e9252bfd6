CREATE TABLE t (
  a INT, -- c
  b STRING
) WITH (
  'connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
