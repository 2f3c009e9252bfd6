-- Headers: null values, duplicates, order
CREATE TABLE t (
  a INT,
  l ARRAY<ROW<`key` STRING, `value` BYTES>> METADATA FROM 'header-list'
) WITH (${kafka}, 'topic' = 'headers', 'format' = 'json');
CREATE TABLE m (a INT, h MAP<STRING, BYTES> METADATA FROM 'headers' VIRTUAL) WITH (${kafka}, 'topic' = 'headers', 'format' = 'json');
INSERT INTO t VALUES
  (1, array(named_struct('key', 'x', 'value', X'01'), named_struct('key', 'n', 'value', NULL), named_struct('key', 'x', 'value', X'02'))),
  (2, array()),
  (3, NULL);
SELECT * FROM t ORDER BY a;
--> 1 | [{key: x, value: X'01'}, {key: n, value: NULL}, {key: x, value: X'02'}]
--> 2 | []
--> 3 | []
SELECT a, h['x'], h['n'], size(h) FROM m ORDER BY a;
--> 1 | X'02' | NULL | 2
--> 2 | NULL | NULL | 0
--> 3 | NULL | NULL | 0
