-- error: UNSUPPORTED_SQL: CREATE OR REPLACE TABLE t is supported only with AS and a query
CREATE OR REPLACE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
