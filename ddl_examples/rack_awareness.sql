-- Reads from the replica in one's own rack, as far as there is one: less traffic between zones.
CREATE TABLE near_orders (
  id BIGINT,
  country STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'near-orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  -- where this reader stands; the brokers say by broker.rack where they stand, and need
  -- replica.selector.class = org.apache.kafka.common.replica.RackAwareReplicaSelector
  'properties.client.rack' = 'b',
  -- ... or each reading process finds it for itself; without such a variable, the one above counts
  'scan.rack-id' = 'env:NODE_AZ',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO near_orders VALUES (1, 'DE'), (2, 'FR');

-- Without such a replica the leader answers: the rows are the same.
SELECT * FROM near_orders ORDER BY id;
--> 1 | DE
--> 2 | FR
