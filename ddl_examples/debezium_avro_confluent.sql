-- Changes in Debezium's envelope, in Avro with a schema registry, as Debezium's connectors write them with
-- Confluent's converter.
CREATE TABLE stock (
  kind STRING METADATA FROM 'row-kind',
  item STRING,
  pieces INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'stock',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-avro-confluent',
  'debezium-avro-confluent.url' = 'http://localhost:8081'
);

-- Each row has its row kind. Debezium itself would write an update as one change.
INSERT INTO stock (kind, item, pieces) VALUES ('+I', 'bolt', 10);

INSERT INTO stock (kind, item, pieces) VALUES ('+I', 'nut', 7);

INSERT INTO stock (kind, item, pieces) VALUES ('-D', 'nut', 7);

INSERT INTO stock (kind, item, pieces) VALUES ('+U', 'bolt', 9);

-- With a PRIMARY KEY, SELECT returns the current rows.
CREATE TABLE stock_now (
  item STRING,
  pieces INT,
  PRIMARY KEY (item) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'stock',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-avro-confluent',
  'debezium-avro-confluent.url' = 'http://localhost:8081'
);

SELECT item, pieces FROM stock_now;
--> bolt | 9

SELECT kind, item, pieces FROM stock ORDER BY item, pieces;
--> +I | bolt | 9
--> +I | bolt | 10
--> +I | nut | 7
--> -D | nut | 7
