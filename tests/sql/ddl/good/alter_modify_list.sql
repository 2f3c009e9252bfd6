CREATE TABLE t (ts AS CAST(log_ts AS TIMESTAMP(3)), id BIGINT, log_ts STRING, n INT,
  PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts - INTERVAL '1' DAY) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY (
  log_ts STRING COMMENT 'as text' AFTER id, -- another place
  ts AS CAST(log_ts AS TIMESTAMP(3)) AFTER log_ts,
  PRIMARY KEY (n) NOT ENFORCED,
  WATERMARK FOR ts AS ts
);
