CREATE TABLE t (a INT, `offset` BIGINT METADATA VIRTUAL) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t RENAME `offset` TO place;
