-- INSERT with a column list and BY NAME, and invalid column lists
CREATE TABLE t (a INT, b STRING, c AS a + 1, o BIGINT METADATA FROM 'offset' VIRTUAL) WITH (${kafka}, 'topic' = 'lists', 'format' = 'json');
INSERT INTO t (b) VALUES ('only b');
INSERT INTO t (b, a) SELECT 'swapped', 2;
INSERT INTO t BY NAME SELECT 'named' AS b, 3 AS a;
INSERT INTO t SELECT 4, 'four';
SELECT a, b, c FROM t ORDER BY o;
--> NULL | only b | NULL
--> 2 | swapped | 3
--> 3 | named | 4
--> 4 | four | 5
INSERT INTO t (c) VALUES (1);
--! has no writable column 'c'
INSERT INTO t (a, x) VALUES (1, 2);
--! has no writable column 'x'
INSERT OVERWRITE t VALUES (1, 'x');
--! is not supported for a Kafka topic
