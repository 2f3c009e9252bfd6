CREATE TABLE one (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE two (b INT) WITH ('topic' = 'two') LIKE one;
CREATE TABLE three (c AS a + b) WITH ('topic' = 'three') LIKE two;
