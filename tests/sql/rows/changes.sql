-- Changelog formats: batch reads, errors, and a round trip with row-kind.
CREATE TABLE stock (
  id INT NOT NULL,
  name STRING,
  kind STRING METADATA FROM 'row-kind',
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  ${kafka}, 'topic' = 'changes', 'format' = 'ogg-json'
);

INSERT INTO stock VALUES (1, 'a', '+I');

INSERT INTO stock VALUES (2, 'b', NULL);

INSERT INTO stock VALUES (1, 'a', '-U');

INSERT INTO stock VALUES (1, 'A', '+U');

INSERT INTO stock VALUES (3, 'c', '+I');

INSERT INTO stock (id, name, kind) SELECT id, name, '-D' FROM stock WHERE id = 2;

-- A table with a row-kind column shows every change. Ogg and the formats like it write -U and +U as a delete and an insert.
SELECT * FROM stock;
--> 1 | a | +I
--> 2 | b | +I
--> 1 | a | -D
--> 1 | A | +I
--> 3 | c | +I
--> 2 | b | -D

CREATE TABLE current_stock (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  ${kafka}, 'topic' = 'changes', 'format' = 'ogg-json'
);

SELECT * FROM current_stock ORDER BY id;
--> 1 | A
--> 3 | c

INSERT INTO stock VALUES (9, 'x', 'D');
--! Invalid row kind 'D'

INSERT INTO stock VALUES (NULL, 'x', '+I');
--! column 'id' is declared NOT NULL

CREATE TABLE documents (v STRING) WITH (
  ${kafka}, 'topic' = 'changes', 'format' = 'raw'
);

SELECT v FROM documents;
--> {"before":null,"after":{"id":1,"name":"a"},"op_type":"I"}
--> {"before":null,"after":{"id":2,"name":"b"},"op_type":"I"}
--> {"before":{"id":1,"name":"a"},"after":null,"op_type":"D"}
--> {"before":null,"after":{"id":1,"name":"A"},"op_type":"I"}
--> {"before":null,"after":{"id":3,"name":"c"},"op_type":"I"}
--> {"before":{"id":2,"name":"b"},"after":null,"op_type":"D"}

-- Without a primary key, a delete removes a copy of an equal row.
CREATE TABLE rows_of_stock (name STRING, id INT) WITH (
  ${kafka}, 'topic' = 'changes', 'format' = 'ogg-json'
);

SELECT * FROM rows_of_stock;
--> A | 1
--> c | 3

INSERT INTO rows_of_stock VALUES ('c', 3), ('d', 4);

SELECT * FROM rows_of_stock ORDER BY id;
--> A | 1
--> c | 3
--> c | 3
--> d | 4

-- Metadata columns of changelog formats.
CREATE TABLE canal (
  id INT,
  kind STRING METADATA FROM 'row-kind' VIRTUAL,
  `database` STRING METADATA FROM 'value.database' VIRTUAL,
  keys ARRAY<STRING> METADATA FROM 'value.pk-names' VIRTUAL,
  at TIMESTAMP_LTZ(3) METADATA FROM 'value.event-timestamp' VIRTUAL
) WITH (
  ${kafka}, 'topic' = 'canal', 'format' = 'canal-json', 'canal-json.table.include' = 'or.*'
);

CREATE TABLE canal_documents (v STRING) WITH (
  ${kafka}, 'topic' = 'canal', 'format' = 'raw'
);

INSERT INTO canal_documents VALUES
('{"database":"shop","table":"orders","type":"UPDATE","data":[{"id":1},{"id":2}],"old":[{"id":7},{"id":3}],"pkNames":["id"],"es":1500}');

INSERT INTO canal_documents VALUES ('{"database":"shop","table":"users","type":"INSERT","data":[{"id":"no number"}]}');

SELECT * FROM canal;
--> 7 | -U | shop | [id] | 1970-01-01 00:00:01.500000
--> 1 | +U | shop | [id] | 1970-01-01 00:00:01.500000
--> 3 | -U | shop | [id] | 1970-01-01 00:00:01.500000
--> 2 | +U | shop | [id] | 1970-01-01 00:00:01.500000
