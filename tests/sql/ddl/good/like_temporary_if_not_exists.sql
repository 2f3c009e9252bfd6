CREATE TABLE db.base (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TEMPORARY TABLE IF NOT EXISTS copy LIKE db.base;
