-- The statements on Flink's page about the Canal format, unchanged. The records are those of the page. One task
-- writes the records of an INSERT, so that they are in order (COALESCE).
CREATE TABLE binlog (line STRING) WITH (${kafka}, 'topic' = 'products_binlog', 'format' = 'raw');

INSERT INTO binlog SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('{"data": [{"id": "111", "name": "scooter", "description": "Big 2-wheel scooter", "weight": "5.15"}], "database": "inventory", "table": "products", "type": "INSERT"}'),
  ('{"data": [{"id": "111", "name": "scooter", "description": "Big 2-wheel scooter", "weight": "5.18"}], "database": "inventory", "es": 1589373560000, "id": 9, "isDdl": false, "mysqlType": {"id": "INTEGER", "name": "VARCHAR(255)", "description": "VARCHAR(512)", "weight": "FLOAT"}, "old": [{"weight": "5.15"}], "pkNames": ["id"], "sql": "", "sqlType": {"id": 4, "name": 12, "description": 12, "weight": 7}, "table": "products", "ts": 1589373560798, "type": "UPDATE"}');

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
 'format' = 'canal-json'  -- using canal-json as the format
);

-- the page sets no startup position: as in Flink, the group must have committed an offset
SELECT name, AVG(weight) FROM topic_products GROUP BY name;
--! group 'testGroup' has no valid committed offset

-- a real-time materialized view on the MySQL "products"
-- which calculates the latest average of weight for the same products
SELECT name, AVG(weight) FROM topic_products /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ GROUP BY name;
--> scooter | 5.180000

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
  ('{"data": [{"user_id": "1", "item_id": "2", "behavior": "buy"}], "database": "shop", "table": "users", "sqlType": {"user_id": -5}, "pkNames": ["user_id"], "ts": 1589373560798, "type": "INSERT"}');

CREATE TABLE KafkaTable (
  origin_database STRING METADATA FROM 'value.database' VIRTUAL,
  origin_table STRING METADATA FROM 'value.table' VIRTUAL,
  origin_sql_type MAP<STRING, INT> METADATA FROM 'value.sql-type' VIRTUAL,
  origin_pk_names ARRAY<STRING> METADATA FROM 'value.pk-names' VIRTUAL,
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
  'value.format' = 'canal-json'
);

SELECT * FROM KafkaTable;
--> shop | users | {user_id: -5} | [user_id] | 2020-05-13 12:39:20.798000 | 1 | 2 | buy
