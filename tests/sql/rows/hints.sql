-- OPTIONS hints on reading and writing
CREATE TABLE t (a INT, b AS a + 1) WITH (${kafka}, 'topic' = 'hinted', 'format' = 'json');
INSERT INTO t /*+ OPTIONS('properties.linger.ms' = '0') */ VALUES (1);
SELECT count(*) FROM t /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */;
--> 0
SELECT x.b FROM t /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ AS x;
--> 2
SELECT count(*) FROM t /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */ AS l, t /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ AS e;
--> 0
SELECT (SELECT count(*) FROM t /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */) AS l, (SELECT count(*) FROM t /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */) AS e;
--> 0 | 1
SELECT * FROM t /*+ OPTIONS('scan.startup.mod' = 'latest-offset') */;
--! did you mean 'scan.startup.mode'
SELECT * FROM t /*+ OPTIONS('connector' = 'upsert-kafka') */;
--! connector
SELECT * FROM t;
--> 1 | 2
