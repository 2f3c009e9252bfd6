-- EXPLAIN writes nothing and starts nothing
CREATE TABLE t (a INT) WITH (${kafka}, 'topic' = 'explained', 'format' = 'json');
SELECT count(*) FROM t;
--> 0
