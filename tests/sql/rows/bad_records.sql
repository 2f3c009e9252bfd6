-- A record that does not match the declared columns
CREATE TABLE text (s STRING) WITH (${kafka}, 'topic' = 'bad', 'format' = 'raw');
CREATE TABLE t (a INT) WITH (${kafka}, 'topic' = 'bad', 'format' = 'json');
INSERT INTO text VALUES ('{"a": 1}'), ('{"a": "x"}'), ('nonsense');
SELECT * FROM t;
--! field 'a'
SELECT a FROM t /*+ OPTIONS('json.ignore-parse-errors' = 'true') */ ORDER BY a;
--> NULL
--> 1
