-- Kafka's metadata as columns: partition, offset, timestamp and headers of a record.
CREATE TABLE events (
  id BIGINT,
  event_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  headers MAP<STRING, BYTES> METADATA,
  `partition` BIGINT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL,
  topic STRING METADATA VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = 'events',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

-- Metadata columns that are not VIRTUAL are written: the record's timestamp and headers.
INSERT INTO events VALUES (1, TIMESTAMP '2026-01-02 03:04:05.678Z', map('trace', X'0a0b'));

INSERT INTO events VALUES (2, TIMESTAMP '2026-01-02 03:04:06Z', NULL);

SELECT id, event_time, headers, `partition`, `offset`, startswith(topic, 'events') FROM events ORDER BY id;
--> 1 | 2026-01-02 03:04:05.678000 | {trace: X'0a0b'} | 0 | 0 | true
--> 2 | 2026-01-02 03:04:06 | {} | 0 | 1 | true
