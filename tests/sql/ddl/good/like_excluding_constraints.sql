CREATE TABLE base (id BIGINT, name STRING, CONSTRAINT one PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (CONSTRAINT other PRIMARY KEY (name) NOT ENFORCED) LIKE base (EXCLUDING CONSTRAINTS);
