-- error: SCHEMA: The base table does not define a primary key constraint named 'x'. Available constraint name: ['one']
CREATE TABLE t (a INT, CONSTRAINT one PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t DROP CONSTRAINT x;
