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
-- Statements that only Flink has
COMPILE PLAN 'plan.json' FOR INSERT INTO t SELECT 1;
--! COMPILE PLAN is not supported: Spark has no stored plans
COMPILE AND EXECUTE PLAN 'plan.json' FOR INSERT INTO t SELECT 1;
--! COMPILE PLAN is not supported
EXECUTE PLAN 'plan.json';
--! EXECUTE PLAN is not supported
CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' MINUTE AS SELECT a FROM t;
--! CREATE MATERIALIZED TABLE is not supported: use a streaming INSERT
CREATE MODEL m INPUT (text STRING) OUTPUT (label STRING) WITH ('provider' = 'openai');
--! CREATE MODEL is not supported
