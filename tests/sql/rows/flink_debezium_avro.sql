-- The Avro statements on Flink's page about the Debezium format, unchanged, with a schema registry. The records are
-- those of the page, as Debezium writes them with Confluent's Avro converter: the whole change event is a record. One
-- task writes the records of an INSERT, so that they are in order (COALESCE).
CREATE TABLE binlog (
  `before` ROW<id BIGINT, name STRING, description STRING, weight DECIMAL(10, 2)>,
  `after` ROW<id BIGINT, name STRING, description STRING, weight DECIMAL(10, 2)>,
  op STRING,
  ts_ms BIGINT
) WITH (
  ${kafka}, 'topic' = 'products_binlog', 'format' = 'avro-confluent', 'avro-confluent.url' = 'http://localhost:8081'
);

INSERT INTO binlog SELECT /*+ COALESCE(1) */
  CASE WHEN op <> 'c' THEN named_struct('id', 111L, 'name', 'scooter', 'description', 'Big 2-wheel scooter', 'weight', old) END,
  CASE WHEN op <> 'd' THEN named_struct('id', 111L, 'name', 'scooter', 'description', 'Big 2-wheel scooter', 'weight', new) END,
  op, 1589362330904
FROM VALUES ('c', NULL, 5.18BD), ('u', 5.18BD, 5.15BD) AS changes(op, old, new);

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
 -- using 'debezium-avro-confluent' as the format to interpret Debezium Avro messages
 'format' = 'debezium-avro-confluent',
 -- the URL to the schema registry for Kafka
 'debezium-avro-confluent.url' = 'http://localhost:8081'
);

-- the page sets no startup position: as in Flink, the group must have committed an offset
SELECT name, AVG(weight) FROM topic_products GROUP BY name;
--! group 'testGroup' has no valid committed offset

-- a real-time materialized view on the MySQL "products"
-- which calculate the latest average of weight for the same products
SELECT name, AVG(weight) FROM topic_products /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ GROUP BY name;
--> scooter | 5.150000

-- synchronize all the data and incremental changes of MySQL "products" table to
-- Elasticsearch "products" index for future searching
INSERT INTO elasticsearch_products
SELECT * FROM topic_products;
--! elasticsearch_products

-- a continuous query into a table that can be updated
CREATE TABLE average_weights (name STRING, weight DECIMAL(14, 6), PRIMARY KEY (name) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'average-weights', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
SET 'execution.checkpointing.dir' = '/checkpoints/debezium-avro';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO average_weights
SELECT name, AVG(weight) FROM topic_products /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ GROUP BY name;
SET 'execution.runtime-mode' = 'batch';
SELECT * FROM average_weights;
--> scooter | 5.150000
