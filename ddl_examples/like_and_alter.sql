-- Derive a table from another with LIKE, and change it with ALTER. The topic and its records do not change.
CREATE TABLE orders (
  id BIGINT,
  price DECIMAL(10, 2)
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE orders_with_place (
  `offset` BIGINT METADATA VIRTUAL
) LIKE orders;

INSERT INTO orders VALUES (1, 9.99);

SELECT * FROM orders_with_place;
--> 1 | 9.99 | 0

ALTER TABLE orders ADD (currency STRING, cents AS CAST(price * 100 AS BIGINT));

SELECT * FROM orders;
--> 1 | 9.99 | NULL | 999

ALTER TABLE orders DROP cents;

ALTER TABLE orders SET ('json.ignore-parse-errors' = 'true');

ALTER TABLE orders RENAME TO sales;

INSERT INTO sales VALUES (2, 5.00, 'EUR');

SELECT * FROM sales ORDER BY id;
--> 1 | 9.99 | NULL
--> 2 | 5.00 | EUR
