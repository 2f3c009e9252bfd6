-- Output of SHOW CREATE TABLE at revision 75d50b2. BROKER is replaced by the test.
CREATE TABLE `default`.`compat_source` (
  `a` INT,
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `partition` INT METADATA VIRTUAL,
  `twice` AS a * 2,
  WATERMARK FOR `ts` AS ts - INTERVAL '1' SECOND
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'BROKER',
  'format' = 'json',
  'topic' = 'compat-source',
  'scan.startup.mode' = 'earliest-offset',
  'sink.topic.create' = 'true',
  'sink.topic.partitions' = '2'
);

CREATE TABLE `default`.`compat_copy` (
  `a` INT,
  `twice` INT
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'BROKER',
  'format' = 'json',
  'topic' = 'compat-copy',
  'sink.topic.create' = 'true',
  'scan.startup.mode' = 'earliest-offset',
  'properties.isolation.level' = 'read_committed'
);

CREATE TABLE `default`.`compat_once` (
  `a` INT,
  `twice` INT
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'BROKER',
  'format' = 'json',
  'topic' = 'compat-once',
  'sink.topic.create' = 'true',
  'scan.startup.mode' = 'earliest-offset',
  'properties.isolation.level' = 'read_committed',
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'compat'
);

CREATE TABLE `default`.`compat_counts` (
  `k` INT NOT NULL,
  `n` BIGINT,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'properties.bootstrap.servers' = 'BROKER',
  'topic' = 'compat-counts',
  'key.format' = 'json',
  'value.format' = 'json',
  'sink.topic.create' = 'true'
);
