CREATE TABLE changes (
  origin_ts TIMESTAMP(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL,
  event_time TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp' VIRTUAL,
  origin_database STRING METADATA FROM 'value.source.database' VIRTUAL,
  origin_properties MAP<STRING, STRING> METADATA FROM 'value.source.properties' VIRTUAL,
  user_id BIGINT, item_id BIGINT, behavior STRING
) WITH ('connector' = 'kafka', 'topic' = 'user_behavior', 'scan.startup.mode' = 'earliest-offset', 'value.format' = 'debezium-json')
