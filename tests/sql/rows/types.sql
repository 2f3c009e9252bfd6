-- All types of the JSON format, written and read back
CREATE TABLE t (
  c_boolean BOOLEAN, c_tinyint TINYINT, c_smallint SMALLINT, c_int INT, c_bigint BIGINT, c_float FLOAT, c_double DOUBLE,
  c_decimal DECIMAL(38, 18), c_string STRING, c_varchar VARCHAR(20), c_bytes BYTES, c_date DATE,
  c_timestamp TIMESTAMP(6), c_ltz TIMESTAMP_LTZ(3),
  c_array ARRAY<INT NOT NULL>, c_map MAP<STRING, DECIMAL(5, 2)>, c_multiset MULTISET<STRING>,
  c_row ROW<a INT, b ARRAY<ROW<x STRING>>>
) WITH (${kafka}, 'topic' = 'types', 'format' = 'json');
INSERT INTO t VALUES
  (true, -128, -32768, -2147483648, -9223372036854775808, 1.5, -0.1, 12345678901234567890.123456789012345678, 'ä€𝄞"', 'v',
   X'00ff', DATE '1969-12-31', TIMESTAMP_NTZ '2026-01-02 03:04:05.123456', TIMESTAMP '2026-01-02 03:04:05.678Z',
   array(1, 2), map('k', 1.25), map('x', 2), named_struct('a', 1, 'b', array(named_struct('x', 'y')))),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM t WHERE c_boolean;
--> true | -128 | -32768 | -2147483648 | -9223372036854775808 | 1.5 | -0.1 | 12345678901234567890.123456789012345678 | ä€𝄞" | v | X'00ff' | 1969-12-31 | 2026-01-02 03:04:05.123456 | 2026-01-02 03:04:05.678000 | [1, 2] | {k: 1.25} | {x: 2} | {a: 1, b: [{x: y}]}
SELECT count(*), count(c_boolean), count(c_row), count(c_ltz) FROM t;
--> 2 | 1 | 1 | 1

-- nanoseconds are dropped when they are read, and are zeros when they are written
CREATE TABLE nanos_text (line STRING) WITH (${kafka}, 'topic' = 'nanos', 'format' = 'raw');
INSERT INTO nanos_text VALUES ('{"ts":"2024-02-29 12:30:45.123456789","tl":"2024-02-29 12:30:45.1234567Z"}');
CREATE TABLE nanos (ts TIMESTAMP(9), tl TIMESTAMP_LTZ(7), next AS ts + INTERVAL '1' DAY) WITH (${kafka}, 'topic' = 'nanos', 'format' = 'json');
SELECT CAST(ts AS STRING), unix_micros(tl), CAST(next AS STRING) FROM nanos;
--> 2024-02-29 12:30:45.123456 | 1709209845123456 | 2024-03-01 12:30:45.123456
INSERT INTO nanos SELECT ts, tl FROM nanos;
SELECT line FROM nanos_text WHERE line LIKE '%456"%';
--> {"ts":"2024-02-29 12:30:45.123456","tl":"2024-02-29 12:30:45.123456Z"}
