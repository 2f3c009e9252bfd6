-- A topic with several partitions
-- topic wide: 3 partitions
CREATE TABLE t (a INT, p INT METADATA FROM 'partition' VIRTUAL) WITH (${kafka}, 'topic' = 'wide', 'format' = 'json');
INSERT INTO t SELECT id FROM range(300);
SELECT count(*), count(DISTINCT a), count(DISTINCT p) <= 3 FROM t;
--> 300 | 300 | true
