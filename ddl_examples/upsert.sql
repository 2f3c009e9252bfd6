-- A topic as a table of current values: the last record per key is current, and a tombstone deletes the key.
CREATE TABLE stock (
  product STRING,
  pieces INT,
  PRIMARY KEY (product) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'stock',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

-- The same topic with the row kind of each change.
CREATE TABLE stock_changes (
  product STRING,
  pieces INT,
  kind STRING METADATA FROM 'row-kind',
  PRIMARY KEY (product) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'stock',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO stock VALUES ('tea', 10), ('milk', 5);

INSERT INTO stock VALUES ('coffee', 3);

INSERT INTO stock_changes VALUES ('tea', 8, '+U'), ('milk', NULL, '-D');

SELECT product, pieces FROM stock ORDER BY product;
--> coffee | 3
--> tea | 8

SELECT product, pieces, kind FROM stock_changes WHERE product = 'milk' ORDER BY kind;
--> milk | 5 | +U
--> milk | NULL | -D
