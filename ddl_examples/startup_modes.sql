-- Where a query starts: at the earliest or latest offset, the offsets of a group, a timestamp or specific offsets.
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

-- A batch query from the latest offset reads nothing, because it also ends there.
SELECT count(*) FROM visits /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */;
--> 0

-- The group has no committed offsets yet, so 'properties.auto.offset.reset' is used.
SELECT count(*) FROM visits /*+ OPTIONS('scan.startup.mode' = 'group-offsets') */;
--> 2

-- With 'none', this is an error.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'group-offsets', 'properties.auto.offset.reset' = 'none') */;
--! has no valid committed offset

-- A timestamp: milliseconds, ISO 8601, or relative to the start of the query.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '-1 hour') */;
--> 2

SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '2100-01-01T00:00:00Z') */;
--> 0

-- Specific offsets.
SELECT count(*) FROM visits
/*+ OPTIONS('scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:1') */;
--> 1
