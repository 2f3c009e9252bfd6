CREATE TABLE users (id STRING PRIMARY KEY NOT ENFORCED COMMENT 'uuid', name STRING) WITH ('connector' = 'upsert-kafka')
