-- error: UNSUPPORTED_SQL: CREATE TABLE t: AS needs a session
CREATE TABLE t WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json') AS SELECT 'it\'s'
