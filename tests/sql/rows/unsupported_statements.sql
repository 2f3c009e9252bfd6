-- Statements that Kafka tables do not support
CREATE TABLE t (a INT) WITH (${kafka}, 'topic' = 'refused', 'format' = 'json');
TRUNCATE TABLE t;
--! TRUNCATE
DELETE FROM t WHERE a = 1;
--! DELETE
UPDATE t SET a = 1;
--! UPDATE
ALTER TABLE t SET ('connector' = 'filesystem');
--! connector
