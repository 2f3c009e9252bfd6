-- Metadata is cast to the declared type
CREATE TABLE t (
  a INT,
  p BIGINT METADATA FROM 'partition' VIRTUAL,
  p_text AS CAST(p AS STRING),
  o STRING METADATA FROM 'offset' VIRTUAL
) WITH (${kafka}, 'topic' = 'casts', 'format' = 'json');
INSERT INTO t VALUES (1);
INSERT INTO t VALUES (2);
SELECT a, p, p_text, o FROM t ORDER BY a;
--> 1 | 0 | 0 | 0
--> 2 | 0 | 0 | 1
CREATE TABLE texts (a INT, p STRING METADATA FROM 'partition' VIRTUAL) WITH (${kafka}, 'topic' = 'casts', 'format' = 'json');
SELECT a, p FROM texts ORDER BY a;
--> 1 | 0
--> 2 | 0
CREATE TABLE wrong (a INT, ts BOOLEAN METADATA FROM 'timestamp') WITH (${kafka}, 'topic' = 'casts', 'format' = 'json');
--! Invalid data type for metadata column 'ts'
CREATE TABLE not_virtual (a INT, o BIGINT METADATA FROM 'offset') WITH (${kafka}, 'topic' = 'casts', 'format' = 'json');
SELECT a, o FROM not_virtual ORDER BY o;
--> 1 | 0
--> 2 | 1
INSERT INTO not_virtual VALUES (1, 2);
--! 'offset'
CREATE TABLE wrong (a INT, o BIGINT METADATA FROM 'offsets' VIRTUAL) WITH (${kafka}, 'topic' = 'casts', 'format' = 'json');
--! Invalid metadata key 'offsets' in column 'o'
