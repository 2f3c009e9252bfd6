-- Protobuf records with schemas in a schema registry. Another table gets its columns from there.
CREATE TABLE parcels (
  parcel_id BIGINT,
  sender STRING,
  weights ARRAY<DOUBLE>,
  sent TIMESTAMP_LTZ(6)
) WITH (
  'connector' = 'kafka',
  'topic' = 'parcels',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'protobuf-confluent',
  'protobuf-confluent.url' = 'http://localhost:8081'
);

INSERT INTO parcels VALUES
  (1, 'ann', array(1.5D, 2D), TIMESTAMP '2020-01-01 00:00:00.000001'),
  (2, NULL, NULL, NULL);

CREATE TABLE parcels_found WITH (
  'connector' = 'kafka',
  'topic' = 'parcels',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'protobuf-confluent',
  'protobuf-confluent.url' = 'http://localhost:8081'
);

SELECT parcel_id, sender, weights, sent FROM parcels_found ORDER BY parcel_id;
--> 1 | ann | [1.5, 2.0] | 2020-01-01 00:00:00.000001
--> 2 | NULL | NULL | NULL
