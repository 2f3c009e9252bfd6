-- JSON records with JSON Schemas in a schema registry. Another table gets its columns from there.
CREATE TABLE visits (
  page STRING NOT NULL,
  seconds DOUBLE,
  at TIMESTAMP_LTZ(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json-confluent',
  'json-confluent.url' = 'http://localhost:8081'
);

INSERT INTO visits VALUES ('home', 1.5, TIMESTAMP '2020-01-01 00:00:00.123'), ('about', NULL, NULL);

CREATE TABLE visits_found WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json-confluent',
  'json-confluent.url' = 'http://localhost:8081'
);

DESCRIBE visits_found;
--> page | STRING | false | NULL | NULL | NULL | NULL
--> seconds | DOUBLE | true | NULL | NULL | NULL | NULL
--> at | TIMESTAMP_LTZ(3) | true | NULL | NULL | NULL | NULL

SELECT page, seconds, at FROM visits_found ORDER BY page;
--> about | NULL | NULL
--> home | 1.5 | 2020-01-01 00:00:00.123000
