CREATE TABLE t (a INT NULL, b STRING NOT NULL, c BIGINT NULL COMMENT 'c') WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
