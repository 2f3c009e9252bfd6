-- Views, common table expressions, subqueries, unions over tables
CREATE TABLE t (a INT, b AS a + 1) WITH (${kafka}, 'topic' = 'viewed', 'format' = 'json');
INSERT INTO t VALUES (1), (2), (3);
CREATE OR REPLACE TEMPORARY VIEW v AS SELECT a, b FROM t WHERE a > 1;
SELECT sum(b) FROM v;
--> 7
WITH big AS (SELECT * FROM t WHERE a > 2) SELECT a FROM big UNION ALL SELECT a FROM t WHERE a = (SELECT min(a) FROM t) ORDER BY a;
--> 1
--> 3
INSERT INTO t SELECT a + 10 FROM v;
SELECT count(*) FROM v;
--> 4
DROP VIEW v;
