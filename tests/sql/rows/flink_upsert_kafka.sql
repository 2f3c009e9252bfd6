-- The statements on Flink's page about the upsert-kafka connector, unchanged, with the brokers in place of '...'. One
-- task writes the records of an INSERT, so that they are in order (COALESCE).
CREATE TABLE pageviews_per_region (
  user_region STRING,
  pv BIGINT,
  uv BIGINT,
  PRIMARY KEY (user_region) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'pageviews_per_region',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'avro',
  'value.format' = 'avro'
);

CREATE TABLE pageviews (
  user_id BIGINT,
  page_id BIGINT,
  viewtime TIMESTAMP,
  user_region STRING,
  WATERMARK FOR viewtime AS viewtime - INTERVAL '2' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'pageviews',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);

-- a batch query has no end without a position to start from
INSERT INTO pageviews VALUES
  (1, 10, TIMESTAMP_NTZ'2026-01-01 00:00:01', 'eu'),
  (2, 10, TIMESTAMP_NTZ'2026-01-01 00:00:02', 'eu'),
  (1, 11, TIMESTAMP_NTZ'2026-01-01 00:00:03', 'eu'),
  (3, 10, TIMESTAMP_NTZ'2026-01-01 00:00:04', 'us');

SET 'execution.checkpointing.dir' = '/checkpoints/pageviews';
SET 'execution.runtime-mode' = 'streaming';

-- the page sets neither a group nor a startup position
INSERT INTO pageviews_per_region
SELECT
  user_region,
  COUNT(*),
  COUNT(DISTINCT user_id)
FROM pageviews
GROUP BY user_region;
--! group.id

ALTER TABLE pageviews SET ('scan.startup.mode' = 'earliest-offset');

-- calculate the pv, uv and insert into the upsert-kafka sink
INSERT INTO pageviews_per_region
SELECT
  user_region,
  COUNT(*),
  COUNT(DISTINCT user_id)
FROM pageviews
GROUP BY user_region;

SET 'execution.runtime-mode' = 'batch';
SELECT * FROM pageviews_per_region ORDER BY user_region;
--> eu | 3 | 2
--> us | 1 | 1

-- the page leaves options out
CREATE TABLE KafkaTable (
  `ts` TIMESTAMP(3) METADATA FROM 'timestamp',
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING,
  PRIMARY KEY (`user_id`) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  ...

  'key.format' = 'json',
  'key.json.ignore-parse-errors' = 'true',

  'value.format' = 'json',
  'value.json.fail-on-missing-field' = 'false',
  'value.fields-include' = 'EXCEPT_KEY'
);
--! expected an option key in single quotes after option 'connector'

CREATE TABLE KafkaTable (
  `ts` TIMESTAMP(3) METADATA FROM 'timestamp',
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING,
  PRIMARY KEY (`user_id`) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'user_behavior', 'properties.bootstrap.servers' = 'localhost:9092',

  'key.format' = 'json',
  'key.json.ignore-parse-errors' = 'true',

  'value.format' = 'json',
  'value.json.fail-on-missing-field' = 'false',
  'value.fields-include' = 'EXCEPT_KEY'
);

INSERT INTO KafkaTable SELECT /*+ COALESCE(1) */ * FROM VALUES
  (TIMESTAMP_NTZ'2026-01-01 00:00:01', 1, 10, 'view'), (TIMESTAMP_NTZ'2026-01-01 00:00:02', 1, 10, 'buy');

SELECT * FROM KafkaTable;
--> 2026-01-01 00:00:02 | 1 | 10 | buy
