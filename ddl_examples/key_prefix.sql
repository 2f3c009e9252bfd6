-- Key and value have a field with the same name: a prefix distinguishes the key columns.
CREATE TABLE prices (
  k_id BIGINT,
  id STRING,
  price DECIMAL(10, 2)
) WITH (
  'connector' = 'kafka',
  'topic' = 'prices',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'json',
  'key.fields' = 'k_id',
  'key.fields-prefix' = 'k_',
  'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY'
);

INSERT INTO prices VALUES (7, 'seven', 7.70);

SELECT * FROM prices;
--> 7 | seven | 7.70
