-- To write to a table with several topics, its metadata column topic must not be VIRTUAL
CREATE TABLE t (a INT, topic STRING METADATA VIRTUAL) WITH (${kafka}, 'topic' = 'north;south', 'format' = 'json');
INSERT INTO t VALUES (1);
--! topic
