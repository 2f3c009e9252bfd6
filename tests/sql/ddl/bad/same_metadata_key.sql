-- error: SCHEMA: The column `a` and `b` in the table are both from the same metadata key 'timestamp'. Please specify one of the columns as the metadata column and use the computed column syntax to specify the others.
CREATE TABLE t (
  v INT,
  a TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  b TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL
) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
)
