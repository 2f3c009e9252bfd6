-- error: SCHEMA: Column 'b': unknown type 'STRNG'. Did you mean 'STRING'?
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD b STRNG;
