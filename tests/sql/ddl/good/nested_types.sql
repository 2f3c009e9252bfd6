CREATE TABLE deep (
  a ARRAY<ROW<b MAP<STRING, ARRAY<ROW(c INT NOT NULL, d TIMESTAMP(3))>> NOT NULL>>,
  m INT NOT NULL MULTISET ARRAY,
  r ROW<`select` INT 'text', `from` ROW<x BYTES>>
) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json')
