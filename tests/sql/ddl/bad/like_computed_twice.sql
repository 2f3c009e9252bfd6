-- error: SCHEMA: LIKE: A generated column named 'two' already exists in the base table. You might want to specify EXCLUDING GENERATED or OVERWRITING GENERATED
CREATE TABLE base (id BIGINT, two AS id * 2) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (two AS id * 3) LIKE base;
