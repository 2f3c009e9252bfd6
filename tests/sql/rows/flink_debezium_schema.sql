-- The statements on Flink's page about the Debezium format, for records that include their schema: unchanged, except
-- that the option 'debezium-json.schema-include' is added. One task writes the records of an INSERT, so that they are in
-- order (COALESCE).
CREATE TABLE binlog (line STRING) WITH (${kafka}, 'topic' = 'products_binlog', 'format' = 'raw');

INSERT INTO binlog SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('{"schema": {"type": "struct"}, "payload": {"before": null, "after": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}, "source": {}, "op": "c", "ts_ms": 1589362330904, "transaction": null}}'),
  ('{"schema": {"type": "struct"}, "payload": {"before": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}, "after": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.15}, "source": {}, "op": "u", "ts_ms": 1589362330904, "transaction": null}}');

CREATE TABLE topic_products (
  -- schema is totally the same to the MySQL "products" table
  id BIGINT,
  name STRING,
  description STRING,
  weight DECIMAL(10, 2)
) WITH (
 'connector' = 'kafka',
 'topic' = 'products_binlog',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.group.id' = 'testGroup',
 -- using 'debezium-json' as the format to interpret Debezium JSON messages
 'format' = 'debezium-json',
 'debezium-json.schema-include' = 'true'
);

-- the page sets no startup position: as in Flink, the group must have committed an offset
SELECT name, AVG(weight) FROM topic_products GROUP BY name;
--! group 'testGroup' has no valid committed offset

-- a real-time materialized view on the MySQL "products"
-- which calculate the latest average of weight for the same products
SELECT name, AVG(weight) FROM topic_products /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ GROUP BY name;
--> scooter | 5.150000

-- without the option, the record has no "op"
SELECT * FROM topic_products
  /*+ OPTIONS('scan.startup.mode' = 'earliest-offset', 'debezium-json.schema-include' = 'false') */;
--! Corrupt Debezium JSON message

-- a continuous query into a table that can be updated
CREATE TABLE average_weights (name STRING, weight DECIMAL(14, 6), PRIMARY KEY (name) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'average-weights', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
SET 'execution.checkpointing.dir' = '/checkpoints/debezium-schema';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO average_weights
SELECT name, AVG(weight) FROM topic_products /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ GROUP BY name;
SET 'execution.runtime-mode' = 'batch';
SELECT * FROM average_weights;
--> scooter | 5.150000

-- such records can only be read
INSERT INTO topic_products VALUES (1, 'car', 'x', 1.5);
--! schema-include
