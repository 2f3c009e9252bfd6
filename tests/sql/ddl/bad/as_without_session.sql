-- error: UNSUPPORTED_SQL: CREATE TABLE t: AS requires a Spark session
CREATE TABLE t WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json') AS SELECT 'it\'s'
