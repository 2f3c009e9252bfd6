-- error: UNSUPPORTED_SQL: CREATE TABLE copy: LIKE needs a session
CREATE TABLE copy WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json') LIKE base
