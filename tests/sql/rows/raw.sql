-- raw: one column with the bytes of the value
CREATE TABLE big (n INT) WITH (${kafka}, 'topic' = 'numbers', 'format' = 'raw');
CREATE TABLE little (n INT) WITH (${kafka}, 'topic' = 'numbers', 'format' = 'raw', 'raw.endianness' = 'little-endian');
CREATE TABLE latin (s STRING) WITH (${kafka}, 'topic' = 'texts', 'format' = 'raw', 'raw.charset' = 'ISO-8859-1');
CREATE TABLE plain (s BYTES) WITH (${kafka}, 'topic' = 'texts', 'format' = 'raw');
INSERT INTO big VALUES (1);
SELECT n FROM little;
--> 16777216
INSERT INTO latin VALUES ('é');
SELECT s FROM plain;
--> X'e9'
CREATE TABLE two (a INT, b INT) WITH (${kafka}, 'topic' = 'texts', 'format' = 'raw');
--! raw
