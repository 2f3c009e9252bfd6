-- error: SCHEMA: Computed columns can only overwrite other computed columns
CREATE TABLE base (id BIGINT, two INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (two AS id * 2) LIKE base (OVERWRITING GENERATED);
