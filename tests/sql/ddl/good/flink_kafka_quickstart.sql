-- The table of a tutorial: three value fields and their timestamp.
CREATE TABLE clickstream (
  `visitor` BIGINT,
  `page` BIGINT,
  `action` STRING,
  `written_at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
  'connector' = 'kafka',
  'topic' = 'clickstream',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'reports',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);
