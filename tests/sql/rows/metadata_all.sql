-- All metadata keys with their types
CREATE TABLE t (
  a INT,
  topic STRING METADATA VIRTUAL,
  p INT METADATA FROM 'partition' VIRTUAL,
  o BIGINT METADATA FROM 'offset' VIRTUAL,
  ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  tt STRING METADATA FROM 'timestamp-type' VIRTUAL,
  epoch INT METADATA FROM 'leader-epoch' VIRTUAL,
  headers MAP<STRING, BYTES> METADATA
) WITH (${kafka}, 'topic' = 'everything', 'format' = 'json');
INSERT INTO t VALUES (1, TIMESTAMP '1999-12-31 23:59:59.999Z', map('h', X'00ff'));
SELECT a, startswith(topic, 'everything-'), p, o, ts, tt, epoch, headers FROM t;
--> 1 | true | 0 | 0 | 1999-12-31 23:59:59.999000 | CreateTime | 0 | {h: X'00ff'}
