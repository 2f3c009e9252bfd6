-- NOT NULL is enforced on writing
CREATE TABLE t (a INT NOT NULL, b STRING) WITH (${kafka}, 'topic' = 'strict', 'format' = 'json');
INSERT INTO t VALUES (1, NULL);
INSERT INTO t (b) VALUES ('x');
--! a
SELECT * FROM t;
--> 1 | NULL
