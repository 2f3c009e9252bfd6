-- error: SCHEMA: PRIMARY KEY (b): there is no column 'b'
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD PRIMARY KEY (b) NOT ENFORCED;
