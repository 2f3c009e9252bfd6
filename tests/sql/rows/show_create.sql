-- SHOW CREATE TABLE masks secrets
CREATE TABLE t (a INT, b AS a + 1) WITH (${kafka}, 'topic' = 'shown', 'format' = 'json', 'properties.ssl.key.password' = 'planted');
ALTER TABLE t RESET ('properties.ssl.key.password');
SELECT * FROM t;
--> (no rows)
