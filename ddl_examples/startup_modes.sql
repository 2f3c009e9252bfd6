-- Where a query starts: at the earliest or the latest offset, where a consumer group is, at a time, at given offsets.
CREATE TABLE visits (
  page STRING,
  ms INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'analysis',
  'properties.auto.offset.reset' = 'earliest',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO visits VALUES ('/', 12), ('/cart', 40);

SELECT page, ms FROM visits ORDER BY page;
--> / | 12
--> /cart | 40

-- A batch query from the latest offset reads nothing: it ends where it starts.
SELECT count(*) FROM visits /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */;
--> 0

-- The group has committed nothing yet, so 'properties.auto.offset.reset' says where to start.
SELECT count(*) FROM visits /*+ OPTIONS('scan.startup.mode' = 'group-offsets') */;
--> 2

-- Without it, there is nowhere to start.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'group-offsets', 'properties.auto.offset.reset' = 'none') */;
--! has committed no offset

-- A time: milliseconds, ISO text, or relative to the start of the query.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '-1 hour') */;
--> 2

SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '2100-01-01T00:00:00Z') */;
--> 0

-- Given offsets.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:1') */;
--> 1
