-- error: UNSUPPORTED_SQL: ALTER TABLE RESET does not support changing 'connector'
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RESET ('topic', 'connector');
