-- The statements on Flink's page about the kafka connector, unchanged. Where the page leaves options out ('...'), the
-- topic, the brokers and the startup mode are filled in.
CREATE TABLE KafkaTable (
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING,
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);

INSERT INTO KafkaTable VALUES (1, 10, 'view', TIMESTAMP'2026-01-01 00:00:01Z'), (1, 11, 'buy', TIMESTAMP'2026-01-01 00:00:02Z');

SELECT user_id, item_id, behavior, unix_seconds(ts) FROM KafkaTable ORDER BY item_id;
--> 1 | 10 | view | 1767225601
--> 1 | 11 | buy | 1767225602

DROP TABLE KafkaTable;

CREATE TABLE KafkaTable (
  `event_time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `partition` BIGINT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL,
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);

INSERT INTO KafkaTable VALUES (TIMESTAMP'2026-01-01 00:00:03Z', 2, 12, 'view');

SELECT unix_seconds(event_time), `partition`, `offset` >= 2, user_id, item_id, behavior FROM KafkaTable WHERE user_id = 2;
--> 1767225603 | 0 | true | 2 | 12 | view

DROP TABLE KafkaTable;

CREATE TABLE changes (line STRING) WITH (${kafka}, 'topic' = 'user_behavior_changes', 'format' = 'raw');

INSERT INTO changes VALUES
  ('{"before": null, "after": {"user_id": 1, "item_id": 2, "behavior": "buy"}, "source": {"ts_ms": 1589362330904, "table": "users"}, "op": "c", "ts_ms": 1589362330905}');

CREATE TABLE KafkaTable (
  `event_time` TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp' VIRTUAL,  -- from Debezium format
  `origin_table` STRING METADATA FROM 'value.source.table' VIRTUAL, -- from Debezium format
  `partition_id` BIGINT METADATA FROM 'partition' VIRTUAL,  -- from Kafka connector
  `offset` BIGINT METADATA VIRTUAL,  -- from Kafka connector
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior_changes',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'debezium-json'
);

SELECT unix_millis(event_time), origin_table, partition_id, `offset`, user_id, item_id, behavior FROM KafkaTable;
--> 1589362330904 | users | 0 | 0 | 1 | 2 | buy

DROP TABLE KafkaTable;

-- key and value formats
CREATE TABLE KafkaTable (
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  ...

  'format' = 'json',
  'json.ignore-parse-errors' = 'true'
);
--! expected an option key in single quotes after option 'connector'

CREATE TABLE KafkaTable (
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'values_only', 'properties.bootstrap.servers' = 'localhost:9092', 'scan.startup.mode' = 'earliest-offset',

  'format' = 'json',
  'json.ignore-parse-errors' = 'true'
);

INSERT INTO KafkaTable VALUES (TIMESTAMP'2026-01-01 00:00:01Z', 1, 10, 'view');

CREATE TABLE values_only (line STRING, `timestamp` TIMESTAMP_LTZ(3) METADATA)
WITH (${kafka}, 'topic' = 'values_only', 'format' = 'raw');

INSERT INTO values_only VALUES ('not json', TIMESTAMP'2026-01-01 00:00:02Z');

SELECT line FROM values_only ORDER BY line;
--> not json
--> {"user_id":1,"item_id":10,"behavior":"view"}

SELECT unix_seconds(ts), user_id, item_id, behavior FROM KafkaTable;
--> 1767225601 | 1 | 10 | view

DROP TABLE KafkaTable;

CREATE TABLE KafkaTable (
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'key_in_value', 'properties.bootstrap.servers' = 'localhost:9092', 'scan.startup.mode' = 'earliest-offset',

  'key.format' = 'json',
  'key.json.ignore-parse-errors' = 'true',
  'key.fields' = 'user_id;item_id',

  'value.format' = 'json',
  'value.json.fail-on-missing-field' = 'false',
  'value.fields-include' = 'ALL'
);

INSERT INTO KafkaTable VALUES (TIMESTAMP'2026-01-01 00:00:01Z', 1, 10, 'view');

SELECT user_id, item_id, behavior FROM KafkaTable;
--> 1 | 10 | view

CREATE TABLE key_in_value (k STRING, v STRING) WITH (
  ${kafka}, 'topic' = 'key_in_value', 'key.format' = 'raw', 'key.fields' = 'k', 'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

SELECT * FROM key_in_value;
--> {"user_id":1,"item_id":10} | {"user_id":1,"item_id":10,"behavior":"view"}

DROP TABLE KafkaTable;

CREATE TABLE KafkaTable (
  `k_version` INT,
  `k_user_id` BIGINT,
  `k_item_id` BIGINT,
  `version` INT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'key_with_prefix', 'properties.bootstrap.servers' = 'localhost:9092', 'scan.startup.mode' = 'earliest-offset',

  'key.format' = 'json',
  'key.fields-prefix' = 'k_',
  'key.fields' = 'k_version;k_user_id;k_item_id',

  'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY'
);

INSERT INTO KafkaTable VALUES (1, 2, 3, 4, 'view');

SELECT * FROM KafkaTable;
--> 1 | 2 | 3 | 4 | view

CREATE TABLE key_with_prefix (k STRING, v STRING) WITH (
  ${kafka}, 'topic' = 'key_with_prefix', 'key.format' = 'raw', 'key.fields' = 'k', 'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

SELECT * FROM key_with_prefix;
--> {"version":1,"user_id":2,"item_id":3} | {"version":4,"behavior":"view"}

DROP TABLE KafkaTable;

-- security
CREATE TABLE KafkaTable (
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING,
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'csv',
  'properties.security.protocol' = 'SASL_PLAINTEXT',
  'properties.sasl.mechanism' = 'PLAIN',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username=\"username\" password=\"password\";'
);

DESCRIBE KafkaTable;
--> user_id | BIGINT | true | NULL | NULL | NULL | NULL
--> item_id | BIGINT | true | NULL | NULL | NULL | NULL
--> behavior | STRING | true | NULL | NULL | NULL | NULL
--> ts | TIMESTAMP_LTZ(3) | true | NULL | METADATA FROM 'timestamp' | NULL | NULL

DROP TABLE KafkaTable;

CREATE TABLE KafkaTable (
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING,
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'csv',
  'properties.security.protocol' = 'SASL_SSL',
  /* SSL configurations */
  /* Configure the path of truststore (CA) provided by the server */
  'properties.ssl.truststore.location' = '/path/to/kafka.client.truststore.jks',
  'properties.ssl.truststore.password' = 'test1234',
  /* Configure the path of keystore (private key) if client authentication is required */
  'properties.ssl.keystore.location' = '/path/to/kafka.client.keystore.jks',
  'properties.ssl.keystore.password' = 'test1234',
  /* SASL configurations */
  /* Set SASL mechanism as SCRAM-SHA-256 */
  'properties.sasl.mechanism' = 'SCRAM-SHA-256',
  /* Set JAAS configurations */
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.scram.ScramLoginModule required username=\"username\" password=\"password\";'
);

DESCRIBE KafkaTable;
--> user_id | BIGINT | true | NULL | NULL | NULL | NULL
--> item_id | BIGINT | true | NULL | NULL | NULL | NULL
--> behavior | STRING | true | NULL | NULL | NULL | NULL
--> ts | TIMESTAMP_LTZ(3) | true | NULL | METADATA FROM 'timestamp' | NULL | NULL
