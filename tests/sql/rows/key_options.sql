-- Invalid key options
CREATE TABLE t (a INT, b INT) WITH (${kafka}, 'topic' = 'x', 'key.fields' = 'a', 'value.format' = 'json');
--! key.format
CREATE TABLE t (a INT, b INT) WITH (${kafka}, 'topic' = 'x', 'key.format' = 'json', 'value.format' = 'json');
--! key.fields
CREATE TABLE t (a INT, b INT) WITH (${kafka}, 'topic' = 'x', 'key.format' = 'json', 'key.fields' = 'c', 'value.format' = 'json');
--! key.fields
CREATE TABLE t (a INT, b INT) WITH (${kafka}, 'topic' = 'x', 'key.format' = 'json', 'key.fields' = 'a', 'key.fields-prefix' = 'k_', 'value.format' = 'json');
--! k_
CREATE TABLE t (a INT, b INT) WITH (${kafka}, 'topic' = 'x', 'key.format' = 'json', 'key.fields' = 'a', 'value.format' = 'json', 'value.fields-include' = 'SOME');
--! Invalid value 'SOME' for option 'value.fields-include'
CREATE TABLE t (a INT, b INT) WITH (${kafka}, 'topic' = 'x', 'format' = 'json', 'value.format' = 'json');
--! 'format'
