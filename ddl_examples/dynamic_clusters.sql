-- Read streams whose clusters and topics a metadata service names: 'single-cluster' has the topics of one cluster.
CREATE TABLE clicks_v1 (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks-v1',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE clicks_v2 WITH ('topic' = 'clicks-v2') LIKE clicks_v1;

-- A running stream looks for changes once a minute.
CREATE TABLE clicks (
  id BIGINT,
  kafka_cluster STRING METADATA VIRTUAL,
  topic STRING METADATA VIRTUAL
) WITH (
  'connector' = 'dynamic-kafka',
  'stream-ids' = 'clicks-v1;clicks-v2',
  'metadata-service' = 'single-cluster',
  'metadata-service.cluster-id' = 'cluster-0',
  'stream-metadata-discovery-interval-ms' = '60000',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO clicks_v1 VALUES (1), (2);

INSERT INTO clicks_v2 VALUES (3);

SELECT id, kafka_cluster, substr(topic, 1, 9) FROM clicks ORDER BY id;
--> 1 | cluster-0 | clicks-v1
--> 2 | cluster-0 | clicks-v1
--> 3 | cluster-0 | clicks-v2

INSERT INTO clicks (id) VALUES (4);
--! Connector 'dynamic-kafka' can only be used as a source. It cannot be used as a sink.

CREATE TABLE refused (id BIGINT) WITH ('connector' = 'dynamic-kafka', 'stream-ids' = 'a', 'stream-pattern' = 'a', 'metadata-service' = 'single-cluster', 'format' = 'json');
--! Option 'stream-ids' and 'stream-pattern' shouldn't be set together.
