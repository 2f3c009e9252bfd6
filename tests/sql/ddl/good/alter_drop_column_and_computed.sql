CREATE TABLE t (id INT, a INT, b AS a + 1, c STRING) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP (a, `b`, c);
