CREATE TABLE t (`user` BIGINT, product STRING, amount INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD `order` INT FIRST;
ALTER TABLE t ADD (
  seen TIMESTAMP(3),
  category STRING AFTER product,
  PRIMARY KEY (`order`) NOT ENFORCED,
  WATERMARK FOR seen AS seen - INTERVAL '1' HOUR
);
