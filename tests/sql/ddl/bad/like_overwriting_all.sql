-- error: UNSUPPORTED_SQL: Illegal merging strategy 'OVERWRITING' for 'ALL' option
CREATE TABLE base (id INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy LIKE base (OVERWRITING ALL);
