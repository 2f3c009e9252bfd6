-- DESCRIBE returns the same columns as in Flink
CREATE TABLE t (
  id BIGINT NOT NULL COMMENT 'the id',
  price DECIMAL(10, 2),
  cents AS price * 100 COMMENT 'in cents',
  ts TIMESTAMP(3) COMMENT 'when',
  o BIGINT METADATA FROM 'offset' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE
) COMMENT 'all of them' WITH (${kafka}, 'topic' = 'described', 'format' = 'json');
DESCRIBE t;
--> id | BIGINT | false | NULL | NULL | NULL | the id
--> price | DECIMAL(10, 2) | true | NULL | NULL | NULL | NULL
--> cents | DECIMAL(21,2) | true | NULL | AS price * 100 | NULL | in cents
--> ts | TIMESTAMP(3) | true | NULL | NULL | ts - INTERVAL '1' MINUTE | when
--> o | BIGINT | true | NULL | METADATA FROM 'offset' VIRTUAL | NULL | NULL
