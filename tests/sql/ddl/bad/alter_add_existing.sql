-- error: SCHEMA: ALTER TABLE t: Try to add a column `a` which already exists in the table
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD a STRING;
