-- By default the value also contains the key columns
CREATE TABLE t (id INT, name STRING) WITH (${kafka}, 'topic' = 'both', 'key.format' = 'json', 'key.fields' = 'id', 'value.format' = 'json');
CREATE TABLE raw (k STRING, v STRING) WITH (${kafka}, 'topic' = 'both', 'key.format' = 'raw', 'key.fields' = 'k', 'value.format' = 'raw', 'value.fields-include' = 'EXCEPT_KEY');
INSERT INTO t VALUES (1, 'one');
SELECT * FROM raw;
--> {"id":1} | {"id":1,"name":"one"}
SELECT * FROM t;
--> 1 | one
