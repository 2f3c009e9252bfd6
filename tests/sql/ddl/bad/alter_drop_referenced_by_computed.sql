-- error: SCHEMA: The column `a` is referenced by computed column `b`, `c`
CREATE TABLE t (a INT, c AS a + 2, b AS a + 1) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP a;
