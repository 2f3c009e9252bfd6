-- Syntax that only Flink's parser accepts
CREATE TABLE t (a$b INT, c VARCHAR(2147483647), d AS CAST(a$b AS VARCHAR)) WITH (${kafka}, 'topic' = 'flink-syntax', 'format' = 'json');
INSERT INTO t (a$b, c) SELECT $$T.EXPR$0, x FROM (SELECT col1 AS EXPR$0, col2 AS x FROM VALUES (1, 'x'), (2, 'y'), (3, 'z')) $$T;
SELECT `$$T`.a$b FROM (SELECT a$b FROM t WHERE a$b < 2) $$T;
--> 1
SELECT CAST(a$b + 1 AS VARCHAR), d FROM t WHERE c = 'x';
--> 2 | 1
SELECT a$b FROM t ORDER BY a$b LIMIT 1 OFFSET 1 ROWS;
--> 2
SELECT a$b FROM t ORDER BY a$b OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;
--> 2
--> 3
SELECT /*+ STATE_TTL('t' = '1 d') */ count(*) FROM t;
--> 3
SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY c ORDER BY a$b PATTERN (A B) DEFINE A AS a$b = 1);
--! MATCH_RECOGNIZE is not supported: Spark has no operator for patterns of rows
SET 'execution.runtime-mode' = 'streaming';
SELECT /*+ STATE_TTL('t' = '1 d') */ count(*) FROM t;
--! Hint STATE_TTL is not supported
SET 'execution.checkpointing.dir' = '/checkpoints/flink-syntax';
INSERT INTO t (a$b) SELECT a$b FROM t OFFSET 1 ROWS;
--! OFFSET is not supported in a continuous query
