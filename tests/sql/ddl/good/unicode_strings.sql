CREATE TABLE t (
  v STRING COMMENT U&'caf\00e9',
  `at` BIGINT METADATA FROM U&'\006Fffset' VIRTUAL,
  w AS v || u&'\00e9\D83D\DE00' || U&'!00e9!!' UESCAPE '!'
) COMMENT u&'\0074' WITH ('connector' = 'kafka', U&'t\006Fpic' = 'a', 'format' = 'csv',
  'csv.field-delimiter' = U&'\0001', 'csv.quote-character' = U&'#0002' UESCAPE '#');
ALTER TABLE t SET ('csv.escape-character' = U&'\0003');
