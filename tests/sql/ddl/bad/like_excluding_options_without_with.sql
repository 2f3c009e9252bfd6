-- error: MISSING_OPTION: CREATE TABLE copy has no WITH clause
CREATE TABLE base (id INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy LIKE base (EXCLUDING OPTIONS);
