-- error: UNSUPPORTED_SQL: CREATE TABLE copy: LIKE requires a Spark session
CREATE TABLE copy WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json') LIKE base
