-- A topic as a table of current values: the last record per key is current, and a tombstone deletes the key.
CREATE TABLE stock (
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

INSERT INTO stock (product, pieces) VALUES ('tea', 10), ('milk', 5);

INSERT INTO stock (product, pieces) VALUES ('coffee', 3);

INSERT INTO stock VALUES ('tea', 8, '+U'), ('milk', NULL, '-D');

SELECT product, pieces FROM stock ORDER BY product;
--> coffee | 3
--> tea | 8
