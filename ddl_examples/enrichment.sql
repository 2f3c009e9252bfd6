-- Enrich a stream with the current rows of a compacted topic and of a Spark table (lookup join).
CREATE TABLE orders (
  order_id INT,
  customer INT,
  country STRING,
  price DECIMAL(10, 2),
  proctime AS PROCTIME()
) WITH (
  ${kafka},
  'topic' = 'orders',
  'format' = 'json'
);

CREATE TABLE customers (
  id INT,
  name STRING,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'customers',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE TABLE taxes (country STRING, tax DECIMAL(4, 2)) USING parquet;

CREATE TABLE enriched (
  order_id INT,
  name STRING,
  gross DECIMAL(12, 2)
) WITH (
  ${kafka},
  'topic' = 'enriched',
  'format' = 'json'
);

INSERT INTO customers VALUES (10, 'Ada'), (11, 'Emmy');

INSERT INTO taxes VALUES ('DE', 0.19);

INSERT INTO orders VALUES (1, 10, 'DE', 100.00), (2, 12, 'FR', 100.00);

SET 'execution.checkpointing.dir' = '/checkpoints';

SET 'execution.runtime-mode' = 'streaming';

-- Each micro-batch joins the rows that both tables have at that time.
INSERT INTO enriched
SELECT o.order_id, c.name, o.price * (1 + coalesce(t.tax, 0))
FROM orders AS o
LEFT JOIN customers FOR SYSTEM_TIME AS OF o.proctime AS c ON o.customer = c.id
LEFT JOIN taxes FOR SYSTEM_TIME AS OF o.proctime AS t ON o.country = t.country;

SET 'execution.runtime-mode' = 'batch';

SELECT * FROM enriched ORDER BY order_id;
--> 1 | Ada | 119.00
--> 2 | NULL | 100.00

DROP TABLE taxes;
