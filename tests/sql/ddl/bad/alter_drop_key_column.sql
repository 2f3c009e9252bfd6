-- error: SCHEMA: The column `a` is used as the primary key
CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP (a);
