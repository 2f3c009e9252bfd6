CREATE TABLE base (id BIGINT, twice AS id * 2, `offset` BIGINT METADATA VIRTUAL) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (twice BIGINT) LIKE base (EXCLUDING GENERATED);
