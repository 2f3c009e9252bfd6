-- Join each order with the exchange rate that was valid at its time (event-time temporal join), in a batch and in a stream.
CREATE TABLE orders (
  order_id INT,
  currency STRING,
  price INT,
  order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS order_time
) WITH (
  ${kafka},
  'topic' = 'orders',
  'format' = 'json'
);

CREATE TABLE currency_rates (
  currency STRING,
  rate INT,
  update_time TIMESTAMP(3),
  WATERMARK FOR update_time AS update_time,
  PRIMARY KEY (currency) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'currency_rates',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO currency_rates VALUES
  ('Euro', 114, TIMESTAMP_NTZ '2026-01-01 09:00:00'), ('Yen', 1, TIMESTAMP_NTZ '2026-01-01 09:00:00');

INSERT INTO currency_rates VALUES ('Euro', 119, TIMESTAMP_NTZ '2026-01-01 10:45:00');

INSERT INTO orders VALUES
  (1, 'Euro', 2, TIMESTAMP_NTZ '2026-01-01 10:15:00'),
  (2, 'Yen', 50, TIMESTAMP_NTZ '2026-01-01 10:30:00'),
  (3, 'Euro', 3, TIMESTAMP_NTZ '2026-01-01 10:45:00'),
  (4, 'Euro', 5, TIMESTAMP_NTZ '2026-01-01 08:00:00');

SELECT o.order_id, o.price * r.rate AS amount
FROM orders AS o
LEFT JOIN currency_rates FOR SYSTEM_TIME AS OF o.order_time AS r ON o.currency = r.currency
ORDER BY o.order_id;
--> 1 | 228
--> 2 | 50
--> 3 | 357
--> 4 | NULL

-- The rows of an insert-only topic as versions: the latest row per key.
CREATE TABLE rate_history (
  currency STRING,
  rate INT,
  rate_time TIMESTAMP(3),
  WATERMARK FOR rate_time AS rate_time
) WITH (
  ${kafka},
  'topic' = 'rate_history',
  'format' = 'json'
);

CREATE OR REPLACE TEMPORARY VIEW versioned_rates AS
SELECT currency, rate, rate_time
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY rate_time DESC) AS row_num FROM rate_history
)
WHERE row_num = 1;

INSERT INTO rate_history VALUES
  ('Euro', 100, TIMESTAMP_NTZ '2026-01-01 07:00:00'), ('Euro', 110, TIMESTAMP_NTZ '2026-01-01 10:30:00');

SELECT o.order_id, o.price * r.rate AS amount
FROM orders AS o
JOIN versioned_rates FOR SYSTEM_TIME AS OF o.order_time AS r ON o.currency = r.currency
ORDER BY o.order_id;
--> 1 | 200
--> 3 | 330
--> 4 | 500

DROP VIEW versioned_rates;

-- In a stream, an order is joined when the watermark, the earlier one of both tables, passes its time.
CREATE TABLE amounts (
  order_id INT,
  amount INT
) WITH (
  ${kafka},
  'topic' = 'amounts',
  'format' = 'json'
);

SET 'execution.checkpointing.dir' = '/checkpoints';

SET 'execution.runtime-mode' = 'streaming';

INSERT INTO amounts
SELECT o.order_id, o.price * r.rate
FROM orders AS o
LEFT JOIN currency_rates FOR SYSTEM_TIME AS OF o.order_time AS r ON o.currency = r.currency;

SET 'execution.runtime-mode' = 'batch';

SELECT * FROM amounts ORDER BY order_id;
--> 1 | 228
--> 2 | 50
--> 3 | 357
--> 4 | NULL
