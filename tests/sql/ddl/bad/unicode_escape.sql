-- error: SQL_SYNTAX: line 2, column 100: expected four hexadecimal digits of UTF-16 after each '\'
CREATE TABLE t (v STRING) WITH ('connector' = 'kafka', 'topic' = 'events', 'csv.field-delimiter' = U&'\01', 'format' = 'csv')
