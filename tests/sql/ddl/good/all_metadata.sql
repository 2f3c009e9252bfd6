CREATE TABLE meta (
  `topic` STRING NOT NULL METADATA VIRTUAL,
  `partition` INT METADATA VIRTUAL COMMENT 'where it was',
  kafka_offset BIGINT METADATA FROM 'offset' VIRTUAL,
  `timestamp` TIMESTAMP(3) METADATA,
  kind STRING METADATA FROM 'timestamp-type' VIRTUAL,
  headers MAP<STRING NOT NULL, BYTES> METADATA,
  epoch INT METADATA FROM 'leader-epoch' VIRTUAL,
  ingest TIMESTAMP(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL,
  origin MAP<STRING, STRING> METADATA FROM 'value.source.properties' VIRTUAL,
  payload STRING
) WITH ('connector' = 'kafka', 'topic' = 'meta', 'format' = 'debezium-json')
