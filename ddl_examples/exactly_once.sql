-- Every order is copied once, whatever is killed in between: 'exactly-once' needs a prefix of the query's own, and readers
-- that say 'read_committed'.
CREATE TABLE orders (order_id BIGINT, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json');

CREATE TABLE large_orders (order_id BIGINT, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'large-orders', 'properties.bootstrap.servers' = 'localhost:9092',
  'properties.isolation.level' = 'read_committed', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'example-large-orders');

INSERT INTO orders VALUES (1, 9.99), (2, 250.00), (3, 1000.00);

-- A statement is all or nothing.
INSERT INTO large_orders SELECT * FROM orders WHERE price > 500;
SELECT * FROM large_orders;
--> 3 | 1000.00

SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.dir' = '/checkpoints/exactly-once';
SET 'pipeline.name' = 'large-orders';

-- A continuous query goes on from its checkpoint, exactly where it stopped.
INSERT INTO large_orders SELECT * FROM orders WHERE price BETWEEN 100 AND 500;

SET 'execution.runtime-mode' = 'batch';
SELECT * FROM large_orders ORDER BY order_id;
--> 2 | 250.00
--> 3 | 1000.00

SET 'execution.runtime-mode' = 'streaming';
SET 'pipeline.name' = 'more-large-orders';

-- A second query under the prefix of one that runs is refused.
INSERT INTO large_orders SELECT * FROM orders;
--! already, and each query needs one of its own
