-- The statements on Flink's page about the dynamic-kafka connector, unchanged.
CREATE TABLE old_behavior (user_id BIGINT, item_id BIGINT, behavior STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp')
WITH (${kafka}, 'topic' = 'user_behavior', 'format' = 'csv');

CREATE TABLE new_behavior LIKE old_behavior;

ALTER TABLE new_behavior SET ('topic' = 'user_behavior_v2');

INSERT INTO old_behavior VALUES (1, 10, 'view', TIMESTAMP'2026-01-01 00:00:01Z');

INSERT INTO new_behavior VALUES (2, 20, 'buy', TIMESTAMP'2026-01-01 00:00:02Z');

CREATE TABLE DynamicKafkaTable (
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING,
  `kafka_cluster` STRING METADATA FROM 'kafka_cluster',
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
  'connector' = 'dynamic-kafka',
  'stream-ids' = 'user_behavior;user_behavior_v2',
  'metadata-service' = 'single-cluster',
  'metadata-service.cluster-id' = 'cluster-0',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);

SELECT user_id, item_id, behavior, kafka_cluster, unix_seconds(ts) FROM DynamicKafkaTable ORDER BY user_id;
--> 1 | 10 | view | cluster-0 | 1767225601
--> 2 | 20 | buy | cluster-0 | 1767225602

DROP TABLE DynamicKafkaTable;

CREATE TABLE DynamicKafkaTable (
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING,
  `kafka_cluster` STRING METADATA FROM 'kafka_cluster' VIRTUAL
) WITH (
  'connector' = 'dynamic-kafka',
  'stream-ids' = 'user_behavior;user_behavior_v2',
  'metadata-service' = 'single-cluster',
  'metadata-service.cluster-id' = 'cluster-0',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);

SELECT * FROM DynamicKafkaTable ORDER BY user_id;
--> 1 | 10 | view | cluster-0
--> 2 | 20 | buy | cluster-0

-- as in Flink, it is a source only
INSERT INTO DynamicKafkaTable VALUES (3, 30, 'view');
--! 'dynamic-kafka' can only be used as a source
