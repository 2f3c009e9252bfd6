-- error: SCHEMA: A metadata column named 'offset' already exists in the base table. You might want to specify EXCLUDING METADATA or OVERWRITING METADATA
CREATE TABLE base (a INT, `offset` BIGINT METADATA VIRTUAL) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (`offset` INT METADATA VIRTUAL) LIKE base;
