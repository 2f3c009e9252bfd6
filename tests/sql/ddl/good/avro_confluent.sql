CREATE TABLE user_created (
  -- one column mapped to the Kafka raw UTF-8 key
  the_kafka_key STRING,
  id STRING,
  name STRING,
  email STRING
) WITH (
  'connector' = 'kafka', 'topic' = 'user_events_example1', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'raw', 'key.fields' = 'the_kafka_key',
  'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://localhost:8082', 'value.fields-include' = 'EXCEPT_KEY'
)
