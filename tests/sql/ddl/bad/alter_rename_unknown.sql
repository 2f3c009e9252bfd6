-- error: SCHEMA: The column `x` does not exist in the base table
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RENAME x TO y;
