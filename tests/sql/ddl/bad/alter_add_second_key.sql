-- error: SCHEMA: The base table has already defined the primary key constraint [`a`]. You might want to drop it before adding a new one
CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD PRIMARY KEY (b) NOT ENFORCED;
