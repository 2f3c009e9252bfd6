-- Protobuf records with a descriptor file, which was compiled from protobuf/orders.proto.
CREATE TABLE orders (
  order_id BIGINT,
  customer STRING,
  status STRING,
  lines ARRAY<ROW<sku STRING, quantity INT>>,
  discounts MAP<STRING, DOUBLE>,
  placed TIMESTAMP_LTZ(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'protobuf',
  'protobuf.message-class-name' = 'shop.Order',
  'protobuf.descriptor-file' = 'ddl_examples/protobuf/orders.desc'
);

INSERT INTO orders VALUES
  (1, 'ann', 'PAID', array(named_struct('sku', 'a', 'quantity', 2), named_struct('sku', 'b', 'quantity', 1)),
   map('spring', 0.1D), TIMESTAMP '2020-01-01 00:00:00.5'),
  (2, NULL, 'SENT', NULL, NULL, NULL);

SELECT order_id, customer, status, lines, discounts, placed FROM orders ORDER BY order_id;
--> 1 | ann | PAID | [{sku: a, quantity: 2}, {sku: b, quantity: 1}] | {spring: 0.1} | 2020-01-01 00:00:00.500000
--> 2 | NULL | SENT | NULL | NULL | NULL

-- The same records in a table that gets all columns from the message.
CREATE TABLE orders_found WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'protobuf',
  'protobuf.message-class-name' = 'shop.Order',
  'protobuf.descriptor-file' = 'ddl_examples/protobuf/orders.desc'
);

SELECT order_id, lines[0].sku AS first FROM orders_found WHERE customer IS NOT NULL;
--> 1 | a
