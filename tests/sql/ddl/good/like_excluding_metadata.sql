CREATE TABLE base (id BIGINT, `offset` BIGINT METADATA VIRTUAL) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (`offset` BIGINT) LIKE base (EXCLUDING METADATA);
