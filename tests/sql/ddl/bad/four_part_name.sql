-- error: UNSUPPORTED_SQL: expected table or database.table
CREATE TABLE a.b.c.d (a INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
