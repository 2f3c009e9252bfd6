CREATE TABLE t (n INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD (id STRING PRIMARY KEY NOT ENFORCED FIRST);
