-- error: SCHEMA: Metadata columns can only overwrite other metadata columns
CREATE TABLE base (`offset` BIGINT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (`offset` BIGINT METADATA VIRTUAL) LIKE base;
