-- error: SCHEMA: The base table already has a primary key. You might want to specify EXCLUDING CONSTRAINTS
CREATE TABLE base (id INT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (PRIMARY KEY (id) NOT ENFORCED) LIKE base;
