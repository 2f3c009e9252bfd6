-- Where a query ends: at the latest offset, a timestamp or specific offsets. In streaming mode, the job then finishes.
CREATE TABLE visits (
  page STRING,
  ms INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'json'
);

CREATE TABLE slow_visits WITH ('topic' = 'slow-visits') LIKE visits;

INSERT INTO visits VALUES ('/', 12), ('/cart', 40), ('/pay', 700);

-- The end offset is exclusive.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.bounded.mode' = 'specific-offsets', 'scan.bounded.specific-offsets' = 'partition:0,offset:2') */;
--> 2

-- All records older than one hour.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.bounded.mode' = 'timestamp', 'scan.bounded.timestamp-millis' = '-1 hour') */;
--> 0

SET 'execution.runtime-mode' = 'streaming';

SET 'execution.checkpointing.dir' = '/checkpoints';

-- A job that reads all available records and finishes. When started again, it reads the new records.
INSERT INTO slow_visits SELECT page, ms FROM visits WHERE ms > 30;

SET 'execution.runtime-mode' = 'batch';

INSERT INTO visits VALUES ('/help', 50);

SET 'execution.runtime-mode' = 'streaming';

INSERT INTO slow_visits SELECT page, ms FROM visits WHERE ms > 30;

SET 'execution.runtime-mode' = 'batch';

SELECT page FROM slow_visits ORDER BY page;
--> /cart
--> /help
--> /pay
