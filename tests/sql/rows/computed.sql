-- Computed columns have Flink's semantics: integer division, 1-based arrays
CREATE TABLE t (
  a INT, b INT, arr ARRAY<STRING>, m MAP<STRING, INT>, s STRING, ts TIMESTAMP(3),
  quotient AS a / b,
  remainder AS MOD(a, b),
  first_one AS arr[1],
  k AS m['k'],
  part AS SPLIT_INDEX(s, '-', 1),
  hour_of AS FLOOR(ts TO HOUR),
  text_of AS CAST(a AS STRING),
  maybe AS TRY_CAST(s AS INT),
  pair AS ROW(a, b),
  both AS MAP['a', a, 'b', b]
) WITH (${kafka}, 'topic' = 'computed', 'format' = 'json');
INSERT INTO t VALUES (7, 2, array('x', 'y'), map('k', 5), 'p-q', TIMESTAMP_NTZ '2026-01-02 03:04:05'), (-7, 2, array(), NULL, '12', NULL);
SELECT a, quotient, remainder, first_one, k, part, hour_of, text_of, maybe FROM t ORDER BY a DESC;
--> 7 | 3 | 1 | x | 5 | q | 2026-01-02 03:00:00 | 7 | NULL
--> -7 | -3 | -1 | NULL | NULL | NULL | NULL | -7 | 12
SELECT both['a'] + both['b'] FROM t ORDER BY a;
--> -5
--> 9

CREATE TABLE functions (
  s STRING, x DOUBLE, tags ARRAY<STRING>,
  seconds AS UNIX_TIMESTAMP(s),
  day AS TO_DATE(s),
  month_of AS DATE_FORMAT(s, 'yyyyMM'),
  root AS SQRT(x),
  logarithm AS LN(x),
  has_a AS ARRAY_CONTAINS(tags, 'a'),
  title AS INITCAP(ARRAY_JOIN(tags, ' '))
) WITH (${kafka}, 'topic' = 'functions', 'format' = 'json');
INSERT INTO functions VALUES ('1970-01-02 00:00:00', 4, array('a', 'BC')), (NULL, 0, array(NULL, 'x'));
SELECT seconds, day, month_of, root, logarithm, has_a, title FROM functions WHERE x = 4;
--> 86400 | 1970-01-02 | 197001 | 2.0 | 1.3862943611198906 | true | A Bc
SELECT seconds, day, month_of, root, logarithm, has_a, title FROM functions WHERE x = 0;
--> NULL | NULL | NULL | 0.0 | -inf | false | X
