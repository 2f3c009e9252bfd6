-- error: SCHEMA: ALTER TABLE t: Try to modify a column `amont` which does not exist in the table. Did you mean 'amount'?
CREATE TABLE t (amount INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY amont STRING;
