CREATE TABLE t (a INT COMMENT '''); DROP TABLE x; --') COMMENT '*/ ) WITH (''a''=''b'')' WITH (
  'connector' = 'kafka', 'topic' = 't''; DROP TABLE x; --', 'properties.client.id' = '/* ${env:HOME} */')
