CREATE TABLE t (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD (log_ts STRING COMMENT 'as text' FIRST, ts AS CAST(log_ts AS TIMESTAMP(3)) AFTER log_ts, WATERMARK FOR ts AS ts);
