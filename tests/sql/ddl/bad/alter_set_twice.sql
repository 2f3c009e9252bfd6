-- error: STATEMENT: option 'topic' is set more than once
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t SET ('topic' = 'x', 'topic' = 'y');
