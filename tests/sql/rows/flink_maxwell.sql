-- The statements on Flink's page about the Maxwell format, unchanged. The records are those of the page. One task
-- writes the records of an INSERT, so that they are in order (COALESCE).
CREATE TABLE binlog (line STRING) WITH (${kafka}, 'topic' = 'products_binlog', 'format' = 'raw');

INSERT INTO binlog SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('{"database": "test", "table": "e", "type": "insert", "ts": 1477053216, "data": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}}'),
  ('{"database": "test", "table": "e", "type": "update", "ts": 1477053217, "xid": 23396, "commit": true, "position": "master.000006:800911", "server_id": 23042, "thread_id": 108, "primary_key": [1, "2016-10-21 05:33:37.523000"], "primary_key_columns": ["id", "c"], "data": {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.15}, "old": {"weight": 5.18}}');

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
 'format' = 'maxwell-json'
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

CREATE TABLE user_binlog (line STRING) WITH (${kafka}, 'topic' = 'user_behavior', 'format' = 'raw');

INSERT INTO user_binlog VALUES
  ('{"database": "shop", "table": "users", "type": "insert", "ts": 1477053217, "primary_key_columns": ["user_id"], "data": {"user_id": 1, "item_id": 2, "behavior": "buy"}}');

CREATE TABLE KafkaTable (
  origin_database STRING METADATA FROM 'value.database' VIRTUAL,
  origin_table STRING METADATA FROM 'value.table' VIRTUAL,
  origin_primary_key_columns ARRAY<STRING> METADATA FROM 'value.primary-key-columns' VIRTUAL,
  origin_ts TIMESTAMP(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL,
  user_id BIGINT,
  item_id BIGINT,
  behavior STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'maxwell-json'
);

SELECT * FROM KafkaTable;
--> shop | users | [user_id] | 2016-10-21 12:33:37 | 1 | 2 | buy
