CREATE TABLE base (id BIGINT, twice AS id * 2, after STRING) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (twice AS id * 20) LIKE base (OVERWRITING GENERATED);
