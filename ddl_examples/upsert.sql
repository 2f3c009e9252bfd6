-- A topic as a table of current values: the last record of each key counts, an empty one deletes it.
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

INSERT INTO stock VALUES ('tea', 10);

INSERT INTO stock VALUES ('coffee', 3);

INSERT INTO stock VALUES ('tea', 8);

SELECT * FROM stock ORDER BY product;
--> coffee | 3
--> tea | 8
