-- Join a topic with another topic and with a Spark table.
CREATE TABLE orders (
  order_id INT,
  customer INT,
  price DECIMAL(10, 2),
  quantity INT,
  total AS price * quantity
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE payments (
  order_id INT,
  paid BOOLEAN
) WITH (
  'connector' = 'kafka',
  'topic' = 'payments',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO orders VALUES (1, 10, 9.99, 3), (2, 11, 5.00, 1), (3, 10, 1.50, 2);

INSERT INTO payments VALUES (1, true), (3, false);

CREATE OR REPLACE TEMPORARY VIEW names AS SELECT * FROM VALUES (10, 'Ada'), (11, 'Emmy') AS t (id, name);

SELECT o.order_id, n.name, o.total, coalesce(p.paid, false) AS paid
FROM orders AS o
JOIN names AS n ON n.id = o.customer
LEFT JOIN payments AS p ON p.order_id = o.order_id
ORDER BY o.order_id;
--> 1 | Ada | 29.97 | true
--> 2 | Emmy | 5.00 | false
--> 3 | Ada | 3.00 | false
