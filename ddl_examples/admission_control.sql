-- Limit how much a micro-batch reads, how many tasks read it, and how much memory they use.
-- topic readings: 2 partitions
CREATE TABLE readings (
  sensor STRING,
  value DOUBLE
) WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'dashboard',
  'properties.queued.max.messages.kbytes' = '16384',
  'scan.startup.mode' = 'earliest-offset',
  'scan.parallelism' = '4',
  'scan.batch.max-rows' = '5000',
  'scan.batch.max-bytes' = '8 mb',
  'scan.max-offsets-per-trigger' = '2',
  'scan.max-bytes-per-trigger' = '64 mb',
  'client.id.prefix' = 'dashboard-reader',
  'format' = 'json'
);

CREATE TABLE warm (
  sensor STRING,
  value DOUBLE
) WITH (
  'connector' = 'kafka',
  'topic' = 'warm',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO readings VALUES ('a', 20.5), ('b', 31.0), ('c', 30.5), ('d', 19.0), ('e', 40.0);

SET 'execution.runtime-mode' = 'streaming';

SET 'execution.checkpointing.dir' = '/checkpoints/readings';

-- Three batches with at most two records each.
INSERT INTO warm SELECT * FROM readings WHERE value > 30;

SET 'execution.runtime-mode' = 'batch';

SELECT * FROM warm ORDER BY sensor;
--> b | 31.0
--> c | 30.5
--> e | 40.0

-- A minimum above the maximum is an error.
SELECT * FROM readings /*+ OPTIONS('scan.min-offsets-per-trigger' = '3') */;
--! 'scan.min-offsets-per-trigger' (3) must not be greater than 'scan.max-offsets-per-trigger' (2)
