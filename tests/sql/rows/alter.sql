-- ALTER TABLE in all its forms
CREATE TABLE t (a INT, b STRING) WITH (${kafka}, 'topic' = 'altered', 'format' = 'json');
INSERT INTO t VALUES (1, 'x');
ALTER TABLE t ADD c DOUBLE FIRST;
ALTER TABLE t ADD (d AS a * 2 AFTER a, e INT);
SELECT * FROM t;
--> NULL | 1 | 2 | x | NULL
ALTER TABLE t MODIFY d AS a * 3;
SELECT d FROM t;
--> 3
ALTER TABLE t RENAME b TO bb;
SELECT bb FROM t;
--> NULL
ALTER TABLE t DROP a;
--! a
ALTER TABLE t DROP (d, c, e);
SELECT * FROM t;
--> 1 | NULL
ALTER TABLE t ADD a INT;
--! a
ALTER TABLE t DROP missing;
--! missing
ALTER TABLE IF EXISTS no_such_table RENAME TO other;
ALTER TABLE t RENAME TO t2;
SELECT a FROM t2;
--> 1
