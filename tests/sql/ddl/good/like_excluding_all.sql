CREATE TABLE base (
  id BIGINT,
  twice AS id * 2,
  `offset` BIGINT METADATA VIRTUAL,
  ts TIMESTAMP(3),
  PRIMARY KEY (id) NOT ENFORCED,
  WATERMARK FOR ts AS ts
) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy WITH ('connector' = 'kafka', 'topic' = 'x') LIKE base (EXCLUDING ALL);
