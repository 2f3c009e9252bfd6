-- error: UNSUPPORTED_SQL: Each like option feature can be declared only once
CREATE TABLE base (id INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy LIKE base (INCLUDING OPTIONS EXCLUDING OPTIONS);
