-- Content and changes of changelogs: with and without a primary key, in batch queries and in streams. One task writes
-- the records of an INSERT, so that they are in order (COALESCE).
CREATE TABLE events (line STRING) WITH (${kafka}, 'topic' = 'changelog-content', 'format' = 'raw');

INSERT INTO events SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('{"before": null, "after": {"id": 1, "name": "a"}, "op": "c"}'),
  ('{"before": null, "after": {"id": 1, "name": "a"}, "op": "c"}'),
  ('{"before": null, "after": {"id": 2, "name": "b"}, "op": "r"}'),
  ('{"before": {"id": 2, "name": "b"}, "after": {"id": 2, "name": "c"}, "op": "u"}'),
  ('{"before": null, "after": {"id": 3, "name": "d"}, "op": "c"}'),
  ('{"before": {"id": 3, "name": "d"}, "after": null, "op": "d"}'),
  ('{"before": {"id": 4, "name": "x"}, "after": null, "op": "d"}'),
  ('{"before": {"id": 1, "name": "a"}, "after": null, "op": "d"}');

-- without a primary key, +I and +U add a copy of a row, -U and -D remove one
CREATE TABLE copies (id INT, name STRING) WITH (
  ${kafka}, 'topic' = 'changelog-content', 'format' = 'debezium-json'
);
SELECT * FROM copies ORDER BY id;
--> 1 | a
--> 2 | c

-- with one, the last change of a key decides
CREATE TABLE rows_by_key (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  ${kafka}, 'topic' = 'changelog-content', 'format' = 'debezium-json'
);
SELECT * FROM rows_by_key;
--> 2 | c

-- a column METADATA FROM 'row-kind' shows every change, even without a primary key
CREATE TABLE changes (kind STRING METADATA FROM 'row-kind' VIRTUAL, id INT, name STRING) WITH (
  ${kafka}, 'topic' = 'changelog-content', 'format' = 'debezium-json'
);
SELECT * FROM changes;
--> +I | 1 | a
--> +I | 1 | a
--> +I | 2 | b
--> -U | 2 | b
--> +U | 2 | c
--> +I | 3 | d
--> -D | 3 | d
--> -D | 4 | x
--> -D | 1 | a

CREATE TABLE latest (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'changelog-latest', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE upserts (kind STRING METADATA FROM 'row-kind', id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'changelog-latest', 'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO upserts SELECT /*+ COALESCE(1) */ * FROM VALUES ('+I', 1, 'a'), ('+I', 2, 'b'), ('+U', 1, 'c'), ('-D', 2, NULL), ('-D', 9, NULL);
SELECT * FROM latest;
--> 1 | c

-- the same in streams
CREATE TABLE seen (source STRING, kind STRING, id INT, name STRING) WITH (
  ${kafka}, 'topic' = 'changelog-seen', 'format' = 'json'
);
SET 'execution.checkpointing.dir' = '/checkpoints/changelogs';
SET 'execution.runtime-mode' = 'streaming';
INSERT INTO seen SELECT 'debezium', * FROM changes WHERE id = 2;
SET 'pipeline.name' = 'upserts';
INSERT INTO seen SELECT 'upserts', * FROM upserts;
RESET 'pipeline.name';

-- a changelog without such a column is rejected by an insert-only table; so is an aggregate
INSERT INTO seen SELECT 'copies', '', id, name FROM copies;
--! doesn't support consuming update and delete changes
INSERT INTO seen SELECT source, kind, count(*), '' FROM seen GROUP BY source, kind;
--! doesn't support consuming update changes

-- an update into a change data capture format is written as a delete and an insert, as Flink does
CREATE TABLE canal (id INT, name STRING) WITH (${kafka}, 'topic' = 'changelog-canal', 'format' = 'canal-json');
CREATE TABLE canal_events (line STRING) WITH (${kafka}, 'topic' = 'changelog-canal', 'format' = 'raw');
INSERT INTO canal SELECT * FROM copies WHERE id = 2;
SET 'execution.runtime-mode' = 'batch';
SELECT * FROM seen;
--> debezium | +I | 2 | b
--> debezium | -U | 2 | b
--> debezium | +U | 2 | c
--> upserts | +U | 1 | a
--> upserts | +U | 2 | b
--> upserts | +U | 1 | c
--> upserts | -D | 2 | NULL
--> upserts | -D | 9 | NULL
SELECT * FROM canal_events;
--> {"data":[{"id":2,"name":"b"}],"type":"INSERT"}
--> {"data":[{"id":2,"name":"b"}],"type":"DELETE"}
--> {"data":[{"id":2,"name":"c"}],"type":"INSERT"}
