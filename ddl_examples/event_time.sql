-- Event time in a column of the value. The second partition stays empty; on Spark, it does not delay the watermark.
-- topic trips: 2 partitions
CREATE TABLE trips (
  city STRING,
  started TIMESTAMP_LTZ(3),
  WATERMARK FOR started AS started - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'trips',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'scan.watermark.idle-timeout' = '10 s',
  'sink.partitioner' = 'fixed',
  'sink.parallelism' = '1',
  'format' = 'json'
);

CREATE TABLE trips_per_minute (
  minute TIMESTAMP_LTZ(3),
  city STRING,
  trips BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'trips-per-minute',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO trips VALUES
  ('Oslo', TIMESTAMP '2026-01-02 03:04:05Z'),
  ('Rome', TIMESTAMP '2026-01-02 03:04:59Z'),
  ('Oslo', TIMESTAMP '2026-01-02 03:04:30Z'),
  ('Oslo', TIMESTAMP '2026-01-02 03:07:00Z');

SET 'execution.runtime-mode' = 'streaming';

SET 'execution.checkpointing.dir' = '/checkpoints/trips';

SET 'pipeline.name' = 'trips per minute';

INSERT INTO trips_per_minute
SELECT window.start, city, count(*)
FROM trips
GROUP BY window(started, '1 minute'), city;

SET 'execution.runtime-mode' = 'batch';

-- The last window is still open: no event is five seconds past its end.
SELECT * FROM trips_per_minute ORDER BY minute, city;
--> 2026-01-02 03:04:00 | Oslo | 2
--> 2026-01-02 03:04:00 | Rome | 1

-- Spark does not support a watermark per record.
SELECT * FROM trips /*+ OPTIONS('scan.watermark.emit.strategy' = 'on-event') */;
--! is not supported on Spark: Spark computes one watermark per micro-batch
