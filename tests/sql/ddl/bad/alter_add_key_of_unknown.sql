-- error: SCHEMA: PRIMARY KEY (b): column 'b' not found
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD PRIMARY KEY (b) NOT ENFORCED;
