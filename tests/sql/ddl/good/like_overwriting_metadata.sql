CREATE TABLE base (at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (at TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL) LIKE base (OVERWRITING METADATA);
