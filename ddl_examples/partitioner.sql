-- Each task writes to one partition: the task's index modulo the number of partitions.
-- topic orders: 3 partitions
CREATE TABLE orders (
  order_id BIGINT,
  place INT METADATA FROM 'partition' VIRTUAL
) WITH (
  ${kafka},
  'topic' = 'orders',
  'format' = 'json',
  'sink.partitioner' = 'fixed',
  'sink.parallelism' = '2'
);

INSERT INTO orders SELECT id FROM range(10);

SELECT DISTINCT place FROM orders ORDER BY place;
--> 0
--> 1
