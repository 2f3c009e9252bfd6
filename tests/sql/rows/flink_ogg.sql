-- The statements on Flink's page about the Ogg format, unchanged. The records are those of the page. One task
-- writes the records of an INSERT, so that they are in order (COALESCE).
CREATE TABLE binlog (line STRING) WITH (${kafka}, 'topic' = 'products_ogg', 'format' = 'raw');

INSERT INTO binlog SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('{"after": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}, "op_type": "I", "op_ts": "2020-05-13 15:40:05.000000", "current_ts": "2020-05-13 15:40:05.000000", "primary_keys": ["id"], "pos": "00000000000000000000142", "table": "PRODUCTS"}'),
  ('{"before": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}, "after": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.15}, "op_type": "U", "op_ts": "2020-05-13 15:40:06.000000", "current_ts": "2020-05-13 15:40:07.000000", "primary_keys": ["id"], "pos": "00000000000000000000143", "table": "PRODUCTS"}');

CREATE TABLE topic_products
(
    -- schema is totally the same to the MySQL "products" table
    id          BIGINT,
    name        STRING,
    description STRING,
    weight      DECIMAL(10, 2)
) WITH (
      'connector' = 'kafka',
      'topic' = 'products_ogg',
      'properties.bootstrap.servers' = 'localhost:9092',
      'properties.group.id' = 'testGroup',
      'format' = 'ogg-json'
      );

-- the page sets no startup position: as in Flink, the group must have committed an offset
SELECT name, AVG(weight)
FROM topic_products
GROUP BY name;
--! group 'testGroup' has no valid committed offset

ALTER TABLE topic_products SET ('scan.startup.mode' = 'earliest-offset');

-- a real-time materialized view on the Oracle "PRODUCTS"
-- which calculate the latest average of weight for the same products
SELECT name, AVG(weight)
FROM topic_products
GROUP BY name;
--> scooter | 5.150000

-- synchronize all the data and incremental changes of Oracle "PRODUCTS" table to
-- Elasticsearch "products" index for future searching
INSERT INTO elasticsearch_products
SELECT *
FROM topic_products;
--! elasticsearch_products

CREATE TABLE user_binlog (line STRING) WITH (${kafka}, 'topic' = 'user_behavior', 'format' = 'raw');

INSERT INTO user_binlog VALUES
  ('{"after": {"user_id": 1, "item_id": 2, "behavior": "buy"}, "op_type": "I", "op_ts": "2020-05-13 15:40:06.000000", "current_ts": "2020-05-13 15:40:07.000000", "table": "users"}');

-- op_ts and current_ts on the page are the fields of a record. Flink's metadata keys are event-timestamp and ingestion-timestamp
CREATE TABLE KafkaTable
(
    origin_ts    TIMESTAMP(3) METADATA FROM 'value.op_ts' VIRTUAL,
    event_time   TIMESTAMP(3) METADATA FROM 'value.current_ts' VIRTUAL,
    origin_table STRING METADATA FROM 'value.table' VIRTUAL,
    user_id      BIGINT,
    item_id      BIGINT,
    behavior     STRING
) WITH (
      'connector' = 'kafka',
      'topic' = 'user_behavior',
      'properties.bootstrap.servers' = 'localhost:9092',
      'properties.group.id' = 'testGroup',
      'scan.startup.mode' = 'earliest-offset',
      'value.format' = 'ogg-json'
      );
--! Invalid metadata key 'value.op_ts'

CREATE TABLE KafkaTable
(
    origin_ts    TIMESTAMP(3) METADATA FROM 'value.event-timestamp' VIRTUAL,
    event_time   TIMESTAMP(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL,
    origin_table STRING METADATA FROM 'value.table' VIRTUAL,
    user_id      BIGINT,
    item_id      BIGINT,
    behavior     STRING
) WITH (
      'connector' = 'kafka',
      'topic' = 'user_behavior',
      'properties.bootstrap.servers' = 'localhost:9092',
      'properties.group.id' = 'testGroup',
      'scan.startup.mode' = 'earliest-offset',
      'value.format' = 'ogg-json'
      );

SELECT * FROM KafkaTable;
--> 2020-05-13 15:40:06 | 2020-05-13 15:40:07 | users | 1 | 2 | buy
