-- error: UNSUPPORTED_SQL: Kafka tables are always in spark_catalog
CREATE TABLE hive.d.t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
