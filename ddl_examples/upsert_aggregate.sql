-- A continuous aggregate into an upsert table: each micro-batch writes the changed rows.
CREATE TABLE sales (
  product STRING,
  pieces INT
) WITH (
  ${kafka},
  'topic' = 'sales',
  'format' = 'json'
);

CREATE TABLE sold (
  product STRING,
  pieces BIGINT,
  PRIMARY KEY (product) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'sold',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json',
  'sink.buffer-flush.max-rows' = '1000',
  'sink.buffer-flush.interval' = '1 s'
);

INSERT INTO sales VALUES ('tea', 2), ('milk', 1), ('tea', 3);

SET 'execution.checkpointing.dir' = '/checkpoints';

INSERT INTO sold SELECT product, sum(pieces) FROM STREAM sales GROUP BY product;

SELECT * FROM sold ORDER BY product;
--> milk | 1
--> tea | 5
