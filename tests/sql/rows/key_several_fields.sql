-- A key with several fields, in the order of 'key.fields'
CREATE TABLE t (region STRING, id INT, amount DECIMAL(8, 2)) WITH (${kafka}, 'topic' = 'pairs', 'key.format' = 'json', 'key.fields' = 'region;id',
  'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY');
INSERT INTO t VALUES ('eu', 1, 2.50), ('us', 1, 3.00);
SELECT * FROM t ORDER BY region;
--> eu | 1 | 2.50
--> us | 1 | 3.00
