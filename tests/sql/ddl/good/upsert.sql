CREATE TABLE users (
  id BIGINT,
  region STRING,
  name STRING COMMENT 'display name',
  PRIMARY KEY (id, region) NOT ENFORCED
) COMMENT 'latest state of a user' WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'users',
  'key.format' = 'json',
  'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY'
)
