-- The statements on Flink's pages about the formats csv, json, avro, protobuf and raw, unchanged. They set no startup
-- position: as in Flink, the group must have committed an offset.
CREATE TABLE lines (line STRING) WITH (${kafka}, 'topic' = 'csv_behavior', 'format' = 'raw');

INSERT INTO lines VALUES ('1,2,3,buy,2026-01-01 00:00:01'), ('# a comment'), ('x,5,6,view,2026-01-01 00:00:02');

-- csv
CREATE TABLE user_behavior (
  user_id BIGINT,
  item_id BIGINT,
  category_id BIGINT,
  behavior STRING,
  ts TIMESTAMP(3)
) WITH (
 'connector' = 'kafka',
 'topic' = 'csv_behavior',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.group.id' = 'testGroup',
 'format' = 'csv',
 'csv.ignore-parse-errors' = 'true',
 'csv.allow-comments' = 'true'
);

SELECT * FROM user_behavior;
--! group 'testGroup' has no valid committed offset

SELECT * FROM user_behavior /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ ORDER BY item_id;
--> 1 | 2 | 3 | buy | 2026-01-01 00:00:01
--> NULL | 5 | 6 | view | 2026-01-01 00:00:02

DROP TABLE user_behavior;

-- json
CREATE TABLE user_behavior (
  user_id BIGINT,
  item_id BIGINT,
  category_id BIGINT,
  behavior STRING,
  ts TIMESTAMP(3)
) WITH (
 'connector' = 'kafka',
 'topic' = 'json_behavior',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.group.id' = 'testGroup',
 'format' = 'json',
 'json.fail-on-missing-field' = 'false',
 'json.ignore-parse-errors' = 'true'
);

INSERT INTO user_behavior VALUES (1, 2, 3, 'buy', TIMESTAMP_NTZ'2026-01-01 00:00:01.5');

CREATE TABLE json_lines (line STRING) WITH (${kafka}, 'topic' = 'json_behavior', 'format' = 'raw');

INSERT INTO json_lines VALUES ('{"user_id": 4}'), ('{"user_id":');

SELECT * FROM user_behavior /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */ ORDER BY user_id;
--> 1 | 2 | 3 | buy | 2026-01-01 00:00:01.500000
--> 4 | NULL | NULL | NULL | NULL

DROP TABLE user_behavior;

-- a top-level array
CREATE TABLE user_behavior (
  col1 BIGINT,
  col2 VARCHAR
) WITH (
 'format' = 'json',
 ${kafka}, 'topic' = 'json_arrays'
);

CREATE TABLE arrays (line STRING) WITH (${kafka}, 'topic' = 'json_arrays', 'format' = 'raw');

INSERT INTO arrays SELECT /*+ COALESCE(1) */ * FROM VALUES
  ('[{"col1": 123, "col2": "a"}, {"col1": 456, "col2": "b"}]'),
  ('{"col1": 123, "col2": "a"}'),
  ('{"col1": 456, "col2": "b"}');

SELECT * FROM user_behavior;
--> 123 | a
--> 456 | b
--> 123 | a
--> 456 | b

DROP TABLE user_behavior;

-- avro
CREATE TABLE user_behavior (
  user_id BIGINT,
  item_id BIGINT,
  category_id BIGINT,
  behavior STRING,
  ts TIMESTAMP(3)
) WITH (
 'connector' = 'kafka',
 'topic' = 'avro_behavior',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.group.id' = 'testGroup',
 'format' = 'avro'
);

INSERT INTO user_behavior VALUES (1, 2, 3, 'buy', TIMESTAMP_NTZ'2026-01-01 00:00:01.5');

SELECT * FROM user_behavior /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */;
--> 1 | 2 | 3 | buy | 2026-01-01 00:00:01.500000

DROP TABLE user_behavior;

-- protobuf: there is no class, so the table needs the file of the message
CREATE TABLE user_behavior (
  uid BIGINT,
  name STRING,
  category_type INT,
  bytes BINARY,
  price DOUBLE,
  value_map map<BIGINT, row<v1 BIGINT, v2 INT>>,
  value_arr array<row<v1 BIGINT, v2 INT>>
) WITH (
 'connector' = 'kafka',
 'topic' = 'protobuf_behavior',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.group.id' = 'testGroup',
 'format' = 'protobuf',
 'protobuf.message-class-name' = 'com.example.UserObject',
 'protobuf.ignore-parse-errors' = 'true'
);
--! protobuf.proto-file

CREATE TABLE user_behavior (
  uid BIGINT,
  name STRING,
  category_type INT,
  bytes BINARY,
  price DOUBLE,
  value_map map<BIGINT, row<v1 BIGINT, v2 INT>>,
  value_arr array<row<v1 BIGINT, v2 INT>>
) WITH (
 'connector' = 'kafka',
 'topic' = 'protobuf_behavior',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.group.id' = 'testGroup',
 'format' = 'protobuf',
 'protobuf.message-class-name' = 'com.example.UserObject',
 'protobuf.ignore-parse-errors' = 'true',
 'protobuf.proto-file' = 'tests/sql/rows/user_object.proto'
);

INSERT INTO user_behavior VALUES (
  1, 'ann', 2, X'0102', 1.5, map(7L, named_struct('v1', 8L, 'v2', 9)), array(named_struct('v1', 10L, 'v2', 11))
);

CREATE TABLE protobuf_bytes (line BYTES) WITH (${kafka}, 'topic' = 'protobuf_behavior', 'format' = 'raw');

INSERT INTO protobuf_bytes VALUES (X'ffff');

SELECT * FROM user_behavior /*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */;
--> 1 | ann | 2 | X'0102' | 1.5 | {7: {v1: 8, v2: 9}} | [{v1: 10, v2: 11}]

-- raw
CREATE TABLE nginx_log (
  log STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'nginx_log',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'testGroup',
  'format' = 'raw'
);

ALTER TABLE nginx_log SET ('scan.startup.mode' = 'earliest-offset');

INSERT INTO nginx_log VALUES
  ('47.29.201.179 - - [28/Feb/2019:13:17:10 +0000] "GET /?p=1 HTTP/2.0" 200 5316 "https://domain.com/?p=1" "Mozilla/5.0" "2.75"');

-- the page leaves this function to its readers
CREATE TEMPORARY FUNCTION my_split(log STRING)
RETURNS STRUCT<hostname: STRING, datetime: STRING, url: STRING, browser: STRING>
RETURN named_struct(
  'hostname', regexp_extract(log, '^(.+?) ', 1), 'datetime', regexp_extract(log, '\\[(.+?)\\]', 1),
  'url', regexp_extract(log, '"GET (.+?) ', 1), 'browser', regexp_extract(log, '"(Mozilla.+?)"', 1));

SELECT t.hostname, t.datetime, t.url, t.browser
FROM(
  SELECT my_split(log) as t FROM nginx_log
);
--> 47.29.201.179 | 28/Feb/2019:13:17:10 +0000 | /?p=1 | Mozilla/5.0

DROP TEMPORARY FUNCTION my_split;
