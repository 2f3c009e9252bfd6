-- error: UNSUPPORTED_SQL: Kafka tables stand in Spark's own catalog
CREATE TABLE hive.d.t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
