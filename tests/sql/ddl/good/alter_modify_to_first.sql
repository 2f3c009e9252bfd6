CREATE TABLE t (a INT, b INT, c INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY (c INT FIRST, a INT AFTER b);
