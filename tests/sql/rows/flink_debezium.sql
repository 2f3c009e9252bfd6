-- The statements on Flink's page about the Debezium format, unchanged. The records are those of the page. One task
-- writes the records of an INSERT, so that they are in order (COALESCE).
CREATE TABLE binlog (line STRING) WITH (${kafka}, 'topic' = 'products_binlog', 'format' = 'raw');

INSERT INTO binlog SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('{"before": null, "after": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}, "op": "c"}'),
  ('{"before": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}, "after": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.15}, "source": {}, "op": "u", "ts_ms": 1589362330904, "transaction": null}');

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
 'format' = 'debezium-json'
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

CREATE TABLE elasticsearch_products (
  id BIGINT,
  name STRING,
  description STRING,
  weight DECIMAL(10, 2)
) WITH ('connector' = 'elasticsearch-7', 'hosts' = 'http://localhost:9200', 'index' = 'products');
--! elasticsearch-7

-- a continuous query into a table that can be updated
CREATE TABLE average_weights (name STRING, weight DECIMAL(14, 6), PRIMARY KEY (name) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'average-weights', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
SET 'execution.checkpointing.dir' = '/checkpoints/debezium';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO average_weights
SELECT name, AVG(weight) FROM topic_products /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ GROUP BY name;
SET 'execution.runtime-mode' = 'batch';
SELECT * FROM average_weights;
--> scooter | 5.150000

CREATE TABLE user_binlog (line STRING) WITH (${kafka}, 'topic' = 'user_behavior', 'format' = 'raw');

INSERT INTO user_binlog VALUES
  ('{"before": null, "after": {"user_id": 1, "item_id": 2, "behavior": "buy"}, "source": {"ts_ms": 1589362330000, "db": "shop", "schema": "public", "table": "users"}, "op": "c", "ts_ms": 1589362330904}');

CREATE TABLE KafkaTable (
  origin_ts TIMESTAMP(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL,
  event_time TIMESTAMP(3) METADATA FROM 'value.source.timestamp' VIRTUAL,
  origin_database STRING METADATA FROM 'value.source.database' VIRTUAL,
  origin_schema STRING METADATA FROM 'value.source.schema' VIRTUAL,
  origin_table STRING METADATA FROM 'value.source.table' VIRTUAL,
  origin_properties MAP<STRING, STRING> METADATA FROM 'value.source.properties' VIRTUAL,
  user_id BIGINT,
  item_id BIGINT,
  behavior STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'debezium-json'
);

SELECT * FROM KafkaTable;
--> 2020-05-13 09:32:10.904000 | 2020-05-13 09:32:10 | shop | public | users | {db: shop, schema: public, table: users, ts_ms: 1589362330000} | 1 | 2 | buy
