CREATE TABLE t (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD (`partition` INT METADATA VIRTUAL, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' FIRST);
