-- error: UNSUPPORTED_SQL: Flink doesn't support ENFORCED mode for PRIMARY KEY constraint
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD PRIMARY KEY (a);
