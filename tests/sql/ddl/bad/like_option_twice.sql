-- error: CONFLICTING_OPTIONS: There already exists an option ['topic' -> 'events'] in the base table. You might want to specify EXCLUDING OPTIONS or OVERWRITING OPTIONS
CREATE TABLE base (id INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy WITH ('topic' = 'x') LIKE base (INCLUDING OPTIONS);
