-- Read from the replica in the same rack, if there is one, to reduce traffic between availability zones.
CREATE TABLE near_orders (
  id BIGINT,
  country STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'near-orders',
  'properties.bootstrap.servers' = 'localhost:9092',
  -- the rack of this reader; brokers set theirs with broker.rack, and need
  -- replica.selector.class = org.apache.kafka.common.replica.RackAwareReplicaSelector
  'properties.client.rack' = 'b',
  -- ... or each process looks up its rack; if the variable is not set, the value above is used
  'scan.rack-id' = 'env:NODE_AZ',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO near_orders VALUES (1, 'DE'), (2, 'FR');

-- Without such a replica, the leader responds. The rows are the same.
SELECT * FROM near_orders ORDER BY id;
--> 1 | DE
--> 2 | FR
