-- error: SCHEMA: Column 'a': type VOID is not supported: a column of this type has no values.
CREATE TABLE t (a VOID) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
)
