-- The topic metadata column selects which of the table's topics a row is written to
CREATE TABLE t (a INT, topic STRING METADATA VIRTUAL) WITH (${kafka}, 'topic' = 'north;south', 'format' = 'json');
INSERT INTO t VALUES (1);
--! topic
