-- error: SCHEMA: Columns 'id' and 'ID' differ only in case
CREATE TABLE t (id INT, ID STRING) WITH ('connector' = 'kafka')
