-- error: UNSUPPORTED_SQL: a name has at most two parts
CREATE TABLE a.b.c.d (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
