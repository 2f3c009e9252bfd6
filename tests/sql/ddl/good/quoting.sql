/* Nothing here is an escape but the doubled quotes. */
CREATE TEMPORARY TABLE IF NOT EXISTS `my db`.`a``b.c` (
  `select` INT COMMENT 'it''s \n "quoted"', -- 'not a string
  `ä ö` STRING COMMENT ''
) COMMENT 'WITH (''x'' = 1) // no comment' WITH (
  'connector' = 'kafka',
  'topic-pattern' = 'orders-\d+\.(a|b)',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p\"q''";',
  'csv.quote-character' = '''',
  'csv.field-delimiter' = '\t',
  'csv.null-literal' = ''
) ;
