-- error: UNSUPPORTED_SQL: Computed column 'c': DECIMAL(38, 10) and DECIMAL(38, 20) together need 48 digits, but DECIMAL has at most 38; CAST the operands to smaller decimals.
CREATE TABLE t (a DECIMAL(38, 10), b DECIMAL(38, 20), c AS COALESCE(a, b)) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
)
