-- Changes of a database table as Canal, Maxwell and Oracle GoldenGate write them. Here they are written by INSERT.
CREATE TABLE canal_documents (document STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'canal',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'raw'
);

INSERT INTO canal_documents VALUES
('{"type": "INSERT", "database": "shop", "table": "goods", "data": [{"id": "1", "name": "bolt"}, {"id": "2", "name": "nut"}], "old": null}');

INSERT INTO canal_documents VALUES
('{"type": "UPDATE", "database": "shop", "table": "goods", "data": [{"id": "1", "name": "screw"}], "old": [{"name": "bolt"}]}');

CREATE TABLE goods_by_canal (
  id INT,
  name STRING,
  source STRING METADATA FROM 'value.table' VIRTUAL,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'canal',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'canal-json'
);

SELECT id, name, source FROM goods_by_canal ORDER BY id;
--> 1 | screw | goods
--> 2 | nut | goods

CREATE TABLE maxwell_documents (document STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'maxwell',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'raw'
);

INSERT INTO maxwell_documents VALUES
('{"type": "update", "database": "shop", "table": "goods", "data": {"id": 1, "name": "screw"}, "old": {"name": "bolt"}}');

-- All changes, with the rows before them. Fields that Maxwell omits in "old" are the same as in "data".
CREATE TABLE changes_by_maxwell (
  kind STRING METADATA FROM 'row-kind' VIRTUAL,
  id INT,
  name STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'maxwell',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'maxwell-json'
);

SELECT kind, id, name FROM changes_by_maxwell ORDER BY kind DESC;
--> -U | 1 | bolt
--> +U | 1 | screw

CREATE TABLE ogg_documents (document STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'ogg',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'raw'
);

INSERT INTO ogg_documents VALUES
('{"op_type": "D", "table": "SHOP.GOODS", "op_ts": "2020-05-13 15:40:06.000000", "before": {"id": 1, "name": "bolt"}, "after": null}');

CREATE TABLE changes_by_ogg (
  kind STRING METADATA FROM 'row-kind' VIRTUAL,
  happened TIMESTAMP_LTZ(6) METADATA FROM 'value.event-timestamp' VIRTUAL,
  id INT,
  name STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'ogg',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'ogg-json'
);

SELECT kind, happened, id, name FROM changes_by_ogg;
--> -D | 2020-05-13 15:40:06 | 1 | bolt
