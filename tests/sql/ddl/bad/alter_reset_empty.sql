-- error: UNSUPPORTED_SQL: ALTER TABLE RESET does not support empty key
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RESET ();
