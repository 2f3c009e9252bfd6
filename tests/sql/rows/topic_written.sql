-- A row says which of the table's topics it goes to
CREATE TABLE t (a INT, topic STRING METADATA VIRTUAL) WITH (${kafka}, 'topic' = 'north;south', 'format' = 'json');
INSERT INTO t VALUES (1);
--! topic
