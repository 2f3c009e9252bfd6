-- error: SCHEMA: The base table does not define any primary key constraint. You might want to add a new one
CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY PRIMARY KEY (a) NOT ENFORCED;
