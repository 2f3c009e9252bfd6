-- error: SCHEMA: The base table does not define any watermark. You might want to add a new one
CREATE TABLE t (ts TIMESTAMP(3)) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY WATERMARK FOR ts AS ts;
