-- error: SCHEMA: column 'a' is not a physical column
CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY a AS b + 1;
