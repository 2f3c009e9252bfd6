-- error: SCHEMA: column 'ts' must be of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), but is STRING
CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t MODIFY ts STRING;
