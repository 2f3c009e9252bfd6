-- EXPLAIN neither writes records nor starts a query
CREATE TABLE t (a INT) WITH (${kafka}, 'topic' = 'explained', 'format' = 'json');
SELECT count(*) FROM t;
--> 0
