-- A temporary table hides a permanent table of the same name
CREATE TABLE t (a INT) WITH (${kafka}, 'topic' = 'lasting', 'format' = 'json');
CREATE TEMPORARY TABLE t (a INT, b AS a * 10) WITH (${kafka}, 'topic' = 'passing', 'format' = 'json');
INSERT INTO t VALUES (1);
SELECT * FROM t;
--> 1 | 10
DROP TEMPORARY TABLE t;
SELECT * FROM t;
--> (no rows)
DROP TEMPORARY TABLE t;
--! Temporary table 't' not found
DROP TEMPORARY TABLE IF EXISTS t;
