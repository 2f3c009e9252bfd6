-- The record key as a column, with a separate key format.
CREATE TABLE customers (
  customer_id BIGINT,
  name STRING,
  city STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'customers',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'json',
  'key.fields' = 'customer_id',
  'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY'
);

INSERT INTO customers VALUES (1, 'Ada', 'London'), (2, 'Emmy', 'Erlangen');

SELECT * FROM customers ORDER BY customer_id;
--> 1 | Ada | London
--> 2 | Emmy | Erlangen

-- The same topic as text, to see keys and values.
CREATE TABLE customers_raw (
  k STRING,
  v STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'customers',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'raw',
  'key.fields' = 'k',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

SELECT k, v FROM customers_raw ORDER BY k;
--> {"customer_id":1} | {"name":"Ada","city":"London"}
--> {"customer_id":2} | {"name":"Emmy","city":"Erlangen"}
