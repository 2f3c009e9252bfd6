-- CSV with a custom delimiter, null literal and comments.
CREATE TABLE visits (
  visitor BIGINT,
  page STRING,
  spent DECIMAL(6, 2),
  tags ARRAY<STRING>,
  place ROW<city STRING, country STRING>
) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv',
  'csv.field-delimiter' = '|',
  'csv.quote-character' = '''',
  'csv.null-literal' = 'NULL',
  'csv.ignore-parse-errors' = 'true'
);

INSERT INTO visits VALUES
  (1, '/start', 1.50, array('new', 'mobile'), named_struct('city', 'Lyon', 'country', 'FR')),
  (2, '/a|b', NULL, array(), NULL);

-- The same topic as text, to see the records. Characters after the delimiter in ASCII order need no quotes.
CREATE TABLE visits_raw (line STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'raw'
);

SELECT line FROM visits_raw ORDER BY line;
--> 1|'/start'|1.50|'new;mobile'|'Lyon;FR'
--> 2|'/a|b'|NULL||NULL

-- Malformed records: an invalid number becomes NULL, and a record that is not CSV is skipped.
INSERT INTO visits_raw VALUES ('3|/x|cheap|a|Oslo;NO'), ('4|''/y'), ('5|/z|2|b;c|Rome;IT|');

SELECT visitor, page, spent, size(tags) AS tags, place.city FROM visits ORDER BY visitor;
--> 1 | /start | 1.50 | 2 | Lyon
--> 2 | /a|b | NULL | 0 | NULL
--> 3 | /x | NULL | 1 | Oslo
--> 5 | /z | 2.00 | 2 | Rome
