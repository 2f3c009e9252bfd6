-- Lengths and NOT NULL of a sink's columns are enforced as the settings say
CREATE TABLE raw_rows (a INT, c STRING, v STRING, b BYTES) WITH (${kafka}, 'topic' = 'raw-rows', 'format' = 'json');
CREATE TABLE t (a INT NOT NULL, c CHAR(3), v VARCHAR(2), b BINARY(2)) WITH (${kafka}, 'topic' = 'enforced', 'format' = 'json');
CREATE TABLE u LIKE t WITH ('topic' = 'enforced-stream');
INSERT INTO raw_rows VALUES (1, 'a', 'xyz', X'01'), (NULL, 'b', 'y', X'0203'), (2, 'abcd', NULL, X'040506');
INSERT INTO t SELECT * FROM raw_rows WHERE a = 1;
SELECT c, v FROM t;
--> a | xyz
SET 'table.exec.sink.type-length-enforcer' = 'ERROR';
INSERT INTO t SELECT * FROM raw_rows WHERE a = 1;
--! Column 'c' is CHAR(3), but a value of length 1 is being written into it
SET 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD';
SET 'table.exec.sink.not-null-enforcer' = 'DROP';
SET 'table.exec.sink.nested-constraint-enforcer' = 'ERROR';
--! expected one of 'IGNORE'
INSERT INTO t SELECT * FROM raw_rows;
INSERT INTO t BY NAME SELECT 'wxyz' AS C, 3 AS a;
SET 'execution.checkpointing.dir' = '/checkpoints/enforcers';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO u SELECT * FROM raw_rows;
SET 'execution.runtime-mode' = 'batch';
SELECT a, concat('<', c, '>'), v, hex(b) FROM t WHERE v IS DISTINCT FROM 'xyz' ORDER BY a;
--> 1 | <a  > | xy | 0100
--> 2 | <abc> | NULL | 0405
--> 3 | <wxy> | NULL | NULL
SELECT a, concat('<', c, '>'), v, hex(b) FROM u ORDER BY a;
--> 1 | <a  > | xy | 0100
--> 2 | <abc> | NULL | 0405
-- values inside a column
CREATE TABLE n (r ROW<c CHAR(2), k ARRAY<INT NOT NULL>>) WITH (${kafka}, 'topic' = 'enforced-nested', 'format' = 'json');
SET 'table.exec.sink.nested-constraint-enforcer' = 'ROWS';
INSERT INTO n SELECT named_struct('c', 'xyz', 'k', array(1, NULL));
SET 'table.exec.sink.nested-constraint-enforcer' = 'ROWS_AND_COLLECTIONS';
INSERT INTO n SELECT named_struct('c', c, 'k', k) FROM VALUES ('a', array(1)), ('b', array(1, NULL)), ('c', NULL) AS t(c, k);
SELECT r.c, r.k FROM n ORDER BY 1;
--> a  | [1]
--> c  | NULL
--> xy | [1, NULL]
SET 'table.exec.sink.not-null-enforcer' = 'ERROR';
INSERT INTO n SELECT named_struct('c', 'd', 'k', array(NULL));
--! but NULL is being written into a part that is NOT NULL
RESET 'table.exec.sink.type-length-enforcer';
RESET 'table.exec.sink.not-null-enforcer';
RESET 'table.exec.sink.nested-constraint-enforcer';
