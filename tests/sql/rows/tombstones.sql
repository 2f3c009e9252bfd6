-- A tombstone, and the same records read with another format
CREATE TABLE bytes_of (v BYTES) WITH (${kafka}, 'topic' = 'tombs', 'format' = 'raw');
CREATE TABLE t (a INT) WITH (${kafka}, 'topic' = 'tombs', 'format' = 'json');
INSERT INTO bytes_of VALUES (NULL);
INSERT INTO bytes_of VALUES (CAST('{"a": 1}' AS BINARY));
SELECT * FROM bytes_of;
--> NULL
--> X'7b2261223a20317d'
