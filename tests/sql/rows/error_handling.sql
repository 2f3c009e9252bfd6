-- Undecodable records are skipped, or become rows with an error column.
CREATE TABLE documents (v STRING) WITH (${kafka}, 'topic' = 'mixed', 'format' = 'raw');

INSERT INTO documents VALUES ('{"n": 1}');

INSERT INTO documents VALUES ('{"n": "one"}');

INSERT INTO documents VALUES ('{');

INSERT INTO documents VALUES ('{"n": 2}');

CREATE TABLE strict (n INT) WITH (${kafka}, 'topic' = 'mixed', 'format' = 'json');

SELECT * FROM strict;
--! field 'n'

CREATE TABLE lenient (n INT) WITH (${kafka}, 'topic' = 'mixed', 'format' = 'json', 'error-handling.mode' = 'ignore');

SELECT * FROM lenient;
--> 1
--> 2

CREATE TABLE with_errors (
  n INT NOT NULL,
  `offset` BIGINT METADATA VIRTUAL,
  why STRING METADATA FROM 'error' VIRTUAL,
  bytes BYTES METADATA FROM 'raw-value' VIRTUAL
) WITH (${kafka}, 'topic' = 'mixed', 'format' = 'json');

SELECT n, `offset`, why IS NULL, CAST(bytes AS STRING) FROM with_errors ORDER BY `offset`;
--> 1 | 0 | true | {"n": 1}
--> NULL | 1 | false | {"n": "one"}
--> NULL | 2 | false | {
--> 2 | 3 | true | {"n": 2}

SELECT count(*) FROM with_errors WHERE why LIKE '%field ''n''%' OR why LIKE '%not valid JSON%';
--> 2
