-- Computed columns call functions of the session, and Spark's expressions with an option
CREATE FUNCTION net_price(price DOUBLE, rate DOUBLE) RETURNS DOUBLE RETURN price / (1 + rate);
CREATE TABLE t (
  id INT, price DOUBLE, tags STRING,
  net AS ROUND(NET_PRICE(price, CAST(0.25 AS DOUBLE)), 1),
  sum_of AS id + CAST(net_price(price, CAST(0 AS DOUBLE)) AS INT)
) WITH (${kafka}, 'topic' = 'computed_functions', 'format' = 'json');
INSERT INTO t VALUES (1, 10, 'a;b'), (2, 5, NULL);
SELECT id, net, sum_of FROM t ORDER BY id;
--> 1 | 8.0 | 11
--> 2 | 4.0 | 7
CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN x * 2;
CREATE TABLE refused (id INT, c AS twice(id)) WITH (${kafka}, 'topic' = 'computed_functions', 'format' = 'json');
--! twice, which is a temporary function, and Spark's permanent views cannot call it. Use CREATE TEMPORARY TABLE
CREATE TEMPORARY TABLE with_twice (id INT, c AS twice(id) / 3) WITH (${kafka}, 'topic' = 'computed_functions', 'format' = 'json');
SELECT id, c FROM with_twice ORDER BY id;
--> 1 | 0
--> 2 | 1
CREATE TABLE refused (id INT, c AS missing_function(id)) WITH (${kafka}, 'topic' = 'computed_functions', 'format' = 'json');
--! function MISSING_FUNCTION is not supported
CREATE TABLE refused (id INT, c AS net_price(id)) WITH (${kafka}, 'topic' = 'computed_functions', 'format' = 'json');
--! Spark cannot evaluate
CREATE TABLE refused (tags STRING, c AS levenshtein(tags, 'a''b')) WITH (${kafka}, 'topic' = 'computed_functions', 'format' = 'json');
--! function LEVENSHTEIN is not supported
CREATE TABLE with_spark (
  id INT, tags STRING,
  distance AS levenshtein(tags, 'a''b'),
  half AS id / 2,
  ts AS timestamp_seconds(id),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (${kafka}, 'topic' = 'computed_functions', 'format' = 'json', 'computed-columns.fallback' = 'spark');
SELECT id, distance, half, unix_seconds(ts) FROM with_spark ORDER BY id;
--> 1 | 1 | 0 | 1
--> 2 | NULL | 1 | 2
DROP TABLE t;
DROP FUNCTION net_price;
-- Times in other time zones, patterns, and JSON paths with wildcards; the delay of the watermark is computed
CREATE TABLE times (
  id INT, placed STRING, doc STRING,
  local_time AS CONVERT_TZ(placed, 'UTC', 'America/New_York'),
  ts AS TO_TIMESTAMP_LTZ(placed, 'yyyy-MM-dd HH:mm:ss', 'UTC'),
  decade AS FLOOR(TO_TIMESTAMP(placed) TO DECADE),
  label AS PRINTF('%03d: %s', id, placed),
  is_late AS placed SIMILAR TO '%(22|23):[[:DIGIT:]]+:%',
  in_march AS (TO_TIMESTAMP(placed), INTERVAL '1' HOUR) OVERLAPS (TIMESTAMP '2024-03-01 00:00:00', TIMESTAMP '2024-03-31 00:00:00'),
  names AS JSON_QUERY(doc, '$.items[*].name'),
  prices AS JSON_QUERY(doc, 'lax $.items[*].price' RETURNING ARRAY<STRING>),
  WATERMARK FOR ts AS TIMESTAMPADD(SECOND, -5, ts) - INTERVAL '1' MINUTE * 2
) WITH (${kafka}, 'topic' = 'computed_times', 'format' = 'json');
INSERT INTO times VALUES
  (1, '2024-03-10 06:30:00', '{"items": [{"name": "pen", "price": 1.50}, {"price": 2}, {"name": null}]}'),
  (2, '2019-11-03 22:15:00', '{"items": []}'),
  (3, NULL, '{}');
SELECT id, local_time, unix_seconds(ts), decade, label, is_late, in_march, names, prices FROM times ORDER BY id;
--> 1 | 2024-03-10 01:30:00 | 1710052200 | 2020-01-01 00:00:00 | 001: 2024-03-10 06:30:00 | false | true | ["pen",null] | [1.50, 2]
--> 2 | 2019-11-03 17:15:00 | 1572819300 | 2010-01-01 00:00:00 | 002: 2019-11-03 22:15:00 | true | false | [] | []
--> 3 | NULL | NULL | NULL | 003: null | NULL | NULL | NULL | []
DROP TABLE times;
