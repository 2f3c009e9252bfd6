-- A deprecated option works
CREATE TABLE t (a INT) WITH (${kafka}, 'topic' = 'old', 'format' = 'json', 'sink.semantic' = 'at-least-once');
INSERT INTO t VALUES (1);
SELECT * FROM t;
--> 1
