-- CREATE TABLE AS SELECT, then OR REPLACE: the records remain
CREATE TABLE t WITH (${kafka}, 'topic' = 'made', 'format' = 'json') AS SELECT 1 AS a, 'x' AS b;
SELECT * FROM t;
--> 1 | x
CREATE OR REPLACE TABLE t WITH (${kafka}, 'topic' = 'made', 'format' = 'json') AS SELECT 2 AS a, nullif(true, false) AS c;
SELECT a, c FROM t ORDER BY a;
--> 1 | NULL
--> 2 | true
CREATE TABLE t WITH (${kafka}, 'topic' = 'made', 'format' = 'json') AS SELECT 3 AS a;
--! already exists
