-- Changes of a database table, as Debezium writes them to a topic.
-- With a PRIMARY KEY, SELECT returns the current rows of the database table.
CREATE TABLE products (
  id INT,
  name STRING,
  weight DECIMAL(10, 3),
  changed TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp' VIRTUAL,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'inventory.products',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-json'
);

-- The records that Debezium would write, here written by INSERT.
CREATE TABLE debezium (document STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'inventory.products',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'raw'
);

INSERT INTO debezium VALUES
('{"op": "c", "before": null, "after": {"id": 1, "name": "scooter", "weight": 5.15}, "source": {"ts_ms": 1000}}');

INSERT INTO debezium VALUES
('{"op": "c", "before": null, "after": {"id": 2, "name": "hammer", "weight": 0.75}, "source": {"ts_ms": 2000}}');

INSERT INTO debezium VALUES
('{"op": "u", "before": {"id": 1, "name": "scooter", "weight": 5.15}, "after": {"id": 1, "name": "scooter", "weight": 5.17}, "source": {"ts_ms": 3000}}');

INSERT INTO debezium VALUES
('{"op": "d", "before": {"id": 2, "name": "hammer", "weight": 0.75}, "after": null, "source": {"ts_ms": 4000}}');

SELECT id, name, weight, changed FROM products;
--> 1 | scooter | 5.170 | 1970-01-01 00:00:03

-- Without a PRIMARY KEY, rows are compared by all their columns: an insert adds a copy, a delete removes one.
CREATE TABLE product_rows (
  id INT,
  name STRING,
  weight DECIMAL(10, 3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'inventory.products',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-json'
);

SELECT * FROM product_rows;
--> 1 | scooter | 5.170

-- With a row-kind column: all changes, in batch and streaming mode.
CREATE TABLE product_changes (
  kind STRING METADATA FROM 'row-kind' VIRTUAL,
  id INT,
  weight DECIMAL(10, 3),
  `offset` BIGINT METADATA VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = 'inventory.products',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-json'
);

SELECT kind, id, weight FROM product_changes ORDER BY `offset`, kind DESC;
--> +I | 1 | 5.150
--> +I | 2 | 0.750
--> -U | 1 | 5.150
--> +U | 1 | 5.170
--> -D | 2 | 0.750
