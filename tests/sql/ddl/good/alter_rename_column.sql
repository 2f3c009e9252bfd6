CREATE TABLE t (a INT, b STRING COMMENT 'kept', PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RENAME a TO `A new`;
ALTER TABLE t RENAME b TO c;
