-- The statements on Flink's page about the format avro-confluent, unchanged, with the registry of the test. The page
-- sets no startup position.
CREATE TABLE user_created (

  -- one column mapped to the Kafka raw UTF-8 key
  the_kafka_key STRING,

  -- a few columns mapped to the Avro fields of the Kafka value
  id STRING,
  name STRING,
  email STRING

) WITH (

  'connector' = 'kafka',
  'topic' = 'user_events_example1',
  'properties.bootstrap.servers' = 'localhost:9092',

  -- UTF-8 string as Kafka keys, using the 'the_kafka_key' table column
  'key.format' = 'raw',
  'key.fields' = 'the_kafka_key',

  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = 'http://localhost:8081',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TEMPORARY VIEW some_table AS SELECT * FROM VALUES ('1', 'Ann', 'ann@example.com') AS t (id, name, email);

INSERT INTO user_created
SELECT
  -- replicating the user id into a column mapped to the kafka key
  id as the_kafka_key,

  -- all values
  id, name, email
FROM some_table;

SELECT * FROM user_created /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */;
--> 1 | 1 | Ann | ann@example.com

DROP TABLE user_created;

CREATE TABLE user_created (

  -- one column mapped to the 'id' Avro field of the Kafka key
  kafka_key_id STRING,

  -- a few columns mapped to the Avro fields of the Kafka value
  id STRING,
  name STRING,
  email STRING

) WITH (

  'connector' = 'kafka',
  'topic' = 'user_events_example2',
  'properties.bootstrap.servers' = 'localhost:9092',

  -- Watch out: schema evolution in the context of a Kafka key is almost never backward nor
  -- forward compatible due to hash partitioning.
  'key.format' = 'avro-confluent',
  'key.avro-confluent.url' = 'http://localhost:8081',
  'key.fields' = 'kafka_key_id',

  -- In this example, we want the Avro types of both the Kafka key and value to contain the field 'id'
  -- => adding a prefix to the table column associated to the Kafka key field avoids clashes
  'key.fields-prefix' = 'kafka_key_',

  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = 'http://localhost:8081',
  'value.fields-include' = 'EXCEPT_KEY',

  -- subjects have a default value since Flink 1.13, though can be overriden:
  'key.avro-confluent.subject' = 'user_events_example2-key2',
  'value.avro-confluent.subject' = 'user_events_example2-value2'
);

INSERT INTO user_created VALUES ('1', '1', 'Ann', 'ann@example.com');

SELECT * FROM user_created /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */;
--> 1 | 1 | Ann | ann@example.com

DROP TABLE user_created;

CREATE TABLE user_created (

  -- one column mapped to the Kafka raw UTF-8 key
  kafka_key_id STRING,

  -- a few columns mapped to the Avro fields of the Kafka value
  id STRING,
  name STRING,
  email STRING,

  -- upsert-kafka connector requires a primary key to define the upsert behavior
  PRIMARY KEY (kafka_key_id) NOT ENFORCED

) WITH (

  'connector' = 'upsert-kafka',
  'topic' = 'user_events_example3',
  'properties.bootstrap.servers' = 'localhost:9092',

  -- UTF-8 string as Kafka keys
  -- We don't specify 'key.fields' in this case since it's dictated by the primary key of the table
  'key.format' = 'raw',

  -- In this example, we want the Avro types of both the Kafka key and value to contain the field 'id'
  -- => adding a prefix to the table column associated to the kafka key field avoids clashes
  'key.fields-prefix' = 'kafka_key_',

  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = 'http://localhost:8081',
  'value.fields-include' = 'EXCEPT_KEY'
);

INSERT INTO user_created SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('1', '1', 'Ann', 'ann@example.com'), ('1', '1', 'Ann', 'ann@example.org');

SELECT * FROM user_created;
--> 1 | 1 | Ann | ann@example.org

-- not supported: the format avro-glue, from Flink's page about AWS's registry, and the format avro-variant-confluent
CREATE TABLE glue_created (

  -- one column mapped to the Kafka raw UTF-8 key
  the_kafka_key STRING,

  -- a few columns mapped to the Avro fields of the Kafka value
  id STRING,
  name STRING,
  email STRING

) WITH (

  'connector' = 'kafka',
  'topic' = 'user_events_example1',
  'properties.bootstrap.servers' = 'localhost:9092',

  -- UTF-8 string as Kafka keys, using the 'the_kafka_key' table column
  'key.format' = 'raw',
  'key.fields' = 'the_kafka_key',

  'value.format' = 'avro-glue',
  'value.avro-glue.region' = 'us-east-1',
  'value.avro-glue.registry.name' = 'my-schema-registry',
  'value.avro-glue.subject' = 'my-schema-name',
  'value.fields-include' = 'EXCEPT_KEY'
);
--! avro-glue

CREATE TABLE kafka_source (
    data VARIANT
) WITH (
    'connector' = 'kafka',
    'topic' = 'user_events',
    'properties.bootstrap.servers' = 'localhost:9092',
    'properties.group.id' = 'my-group',
    'format' = 'avro-variant-confluent',
    'avro-variant-confluent.url' = 'http://localhost:8081'
);
--! Column 'data': type VARIANT is not supported
