-- Avro records with the schema derived from the table.
CREATE TABLE measures (
  sensor STRING NOT NULL,
  reading DOUBLE,
  taken TIMESTAMP(3),
  tags MAP<STRING, STRING>,
  history ARRAY<ROW<reading DOUBLE, ok BOOLEAN>>
) WITH (
  'connector' = 'kafka',
  'topic' = 'measures',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'avro'
);

INSERT INTO measures VALUES
  ('a', 1.5, TIMESTAMP_NTZ '1969-12-31 23:59:59.5', map('k', 'v'), array(named_struct('reading', 1D, 'ok', true))),
  ('b', NULL, NULL, NULL, NULL);

SELECT * FROM measures ORDER BY sensor;
--> a | 1.5 | 1969-12-31 23:59:59.500000 | {k: v} | [{reading: 1.0, ok: true}]
--> b | NULL | NULL | NULL | NULL
