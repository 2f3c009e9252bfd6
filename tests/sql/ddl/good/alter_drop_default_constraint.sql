CREATE TABLE t (id INT, n INT, PRIMARY KEY (id, n) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP CONSTRAINT PK_id_n;
