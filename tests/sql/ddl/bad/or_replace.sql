-- error: UNSUPPORTED_SQL: CREATE OR REPLACE TABLE t is supported with AS and a query only
CREATE OR REPLACE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
