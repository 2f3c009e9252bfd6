-- Each order is copied exactly once, even after crashes. 'exactly-once' needs a transactional id prefix per query, and
-- readers with isolation level 'read_committed'.
CREATE TABLE orders (order_id BIGINT, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json');

CREATE TABLE large_orders (order_id BIGINT, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'large-orders', 'properties.bootstrap.servers' = 'localhost:9092',
  'properties.isolation.level' = 'read_committed', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'example-large-orders');

INSERT INTO orders VALUES (1, 9.99), (2, 250.00), (3, 1000.00);

-- A statement is atomic.
INSERT INTO large_orders SELECT * FROM orders WHERE price > 500;
SELECT * FROM large_orders;
--> 3 | 1000.00

SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.dir' = '/checkpoints/exactly-once';
SET 'pipeline.name' = 'large-orders';

-- A streaming query resumes from its checkpoint, exactly where it stopped.
INSERT INTO large_orders SELECT * FROM orders WHERE price BETWEEN 100 AND 500;

SET 'execution.runtime-mode' = 'batch';
SELECT * FROM large_orders ORDER BY order_id;
--> 2 | 250.00
--> 3 | 1000.00

SET 'execution.runtime-mode' = 'streaming';
SET 'pipeline.name' = 'more-large-orders';

-- A second query with the prefix of a running query is rejected.
INSERT INTO large_orders SELECT * FROM orders;
--! and each query needs a unique prefix
