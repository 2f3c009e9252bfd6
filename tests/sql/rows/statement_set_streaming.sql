-- A statement set in streaming mode: one job per INSERT
CREATE TABLE src (a INT) WITH (${kafka}, 'topic' = 'set-in', 'format' = 'json');
CREATE TABLE odd (a INT) WITH (${kafka}, 'topic' = 'set-odd', 'format' = 'json');
CREATE TABLE even (a INT) WITH (${kafka}, 'topic' = 'set-even', 'format' = 'json');
INSERT INTO src VALUES (1), (2), (3);
SET 'execution.checkpointing.dir' = '/checkpoints/s';
SET 'execution.runtime-mode' = 'streaming';
EXECUTE STATEMENT SET BEGIN INSERT INTO odd SELECT a FROM src WHERE a % 2 = 1; INSERT INTO even SELECT a FROM src WHERE a % 2 = 0; END;
SET 'execution.runtime-mode' = 'batch';
SELECT * FROM odd ORDER BY a;
--> 1
--> 3
SELECT * FROM even;
--> 2
