-- A continuous query copies records, and a batch query reads the copies
CREATE TABLE src (a INT) WITH (${kafka}, 'topic' = 'stream-in', 'format' = 'json');
CREATE TABLE dst (a INT, `offset` BIGINT METADATA VIRTUAL) WITH (${kafka}, 'topic' = 'stream-out', 'format' = 'json');
INSERT INTO src VALUES (1), (2);
SET 'execution.checkpointing.dir' = '/checkpoints/c';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO dst SELECT a * 10 FROM src;
SET 'execution.runtime-mode' = 'batch';
SELECT a FROM dst ORDER BY a;
--> 10
--> 20
