-- A continuous query with event-time windows. A window is written when the watermark has passed its end.
CREATE TABLE clicks (
  user_name STRING,
  ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE clicks_per_minute (
  minute TIMESTAMP_LTZ(3),
  clicks BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks-per-minute',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO clicks VALUES
  ('ada', TIMESTAMP '2026-01-02 03:04:05Z'),
  ('ada', TIMESTAMP '2026-01-02 03:04:59Z'),
  ('emmy', TIMESTAMP '2026-01-02 03:05:00Z'),
  ('ada', TIMESTAMP '2026-01-02 03:07:00Z');

SET 'execution.runtime-mode' = 'streaming';

SET 'execution.checkpointing.dir' = '/checkpoints/clicks';

SET 'pipeline.name' = 'clicks per minute';

INSERT INTO clicks_per_minute
SELECT window_start, count(*)
FROM TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
GROUP BY window_start, window_end;

SET 'execution.runtime-mode' = 'batch';

SELECT * FROM clicks_per_minute ORDER BY minute;
--> 2026-01-02 03:04:00 | 2
--> 2026-01-02 03:05:00 | 1

-- A batch does not need GROUP BY: it returns each row once per window. These windows overlap, and each click is in all
-- that end after it.
SELECT user_name, date_format(window_start, 'HH:mm') AS opened, date_format(window_end, 'HH:mm') AS closed
FROM CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '2' MINUTES, INTERVAL '6' MINUTES)
WHERE user_name = 'emmy'
ORDER BY closed;
--> emmy | 03:00 | 03:06
