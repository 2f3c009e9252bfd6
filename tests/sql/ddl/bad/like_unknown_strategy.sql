-- error: SQL_SYNTAX: expected INCLUDING, EXCLUDING or OVERWRITING
CREATE TABLE base (id INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy LIKE base (WITHOUT OPTIONS);
