CREATE TABLE base (id BIGINT, twice AS id * 2, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (twice STRING) LIKE base (EXCLUDING ALL INCLUDING OPTIONS);
