-- Two topics as one table. A metadata column has the topic of each row.
CREATE TABLE orders_eu (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders-eu',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE orders_us WITH ('topic' = 'orders-us') LIKE orders_eu;

CREATE TABLE orders (
  topic STRING METADATA VIRTUAL
) WITH (
  'topic' = 'orders-eu;orders-us'
) LIKE orders_eu;

INSERT INTO orders_eu VALUES (1);

INSERT INTO orders_us VALUES (2);

SELECT id, substr(topic, 1, 9) FROM orders ORDER BY id;
--> 1 | orders-eu
--> 2 | orders-us
