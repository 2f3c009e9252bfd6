CREATE TABLE base (id BIGINT, twice AS id * 2) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy LIKE base (
  INCLUDING ALL
  OVERWRITING OPTIONS
  EXCLUDING PARTITIONS
  EXCLUDING DISTRIBUTION
  including constraints
  Excluding Generated
  OVERWRITING METADATA
  INCLUDING WATERMARKS
);
