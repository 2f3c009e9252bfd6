-- error: SCHEMA: Columns 'id' and 'ID' differ only in case, which is not supported: Spark's default ignores the case of names
CREATE TABLE t (id INT, ID STRING) WITH ('connector' = 'kafka')
