-- A statement set with several inserts: split a topic into two.
CREATE TABLE readings (
  sensor STRING,
  celsius DOUBLE
) WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE hot WITH ('topic' = 'hot') LIKE readings;

CREATE TABLE cold WITH ('topic' = 'cold') LIKE readings;

INSERT INTO readings VALUES ('a', 41.5), ('b', -3.25), ('a', 12.0);

EXECUTE STATEMENT SET BEGIN
  INSERT INTO hot SELECT * FROM readings WHERE celsius > 30;
  INSERT INTO cold SELECT * FROM readings WHERE celsius < 0;
END;

SELECT * FROM hot;
--> a | 41.5

SELECT * FROM cold;
--> b | -3.25
