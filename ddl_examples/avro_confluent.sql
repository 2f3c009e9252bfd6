-- Avro records with schemas in a schema registry. Another table reads them with different columns.
CREATE TABLE readings (
  sensor STRING,
  reading INT,
  taken TIMESTAMP_LTZ(6)
) WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'avro-confluent',
  'avro-confluent.url' = 'http://localhost:8081'
);

INSERT INTO readings VALUES ('a', 1, TIMESTAMP '2020-01-01 00:00:00.000001'), ('b', NULL, NULL);

-- A table without columns gets them from the latest schema of the subject.
CREATE TABLE readings_found WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'avro-confluent',
  'avro-confluent.url' = 'http://localhost:8081'
);

DESCRIBE readings_found;
--> sensor | STRING | true | NULL | NULL | NULL | NULL
--> reading | INT | true | NULL | NULL | NULL | NULL
--> taken | TIMESTAMP_LTZ(6) | true | NULL | NULL | NULL | NULL

SELECT sensor, reading + 1 AS more, taken FROM readings_found ORDER BY sensor;
--> a | 2 | 2020-01-01 00:00:00.000001
--> b | NULL | NULL

-- Wider numeric types, a different column order, and a column that the records do not have.
CREATE TABLE readings_wide (
  reading DOUBLE,
  unit STRING,
  sensor STRING,
  subject STRING METADATA FROM 'value.subject' VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'avro-confluent',
  'avro-confluent.url' = 'http://localhost:8081',
  'avro-confluent.subject' = 'wide'
);

INSERT INTO readings_wide (reading, unit, sensor) VALUES (2.5, 'K', 'c');

SELECT sensor, reading, unit, subject FROM readings_wide ORDER BY sensor;
--> a | 1.0 | NULL | wide
--> b | NULL | NULL | wide
--> c | 2.5 | K | wide
