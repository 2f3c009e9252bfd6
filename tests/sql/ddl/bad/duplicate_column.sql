-- error: SCHEMA: Column 'id' is declared more than once
CREATE TABLE t (id INT, id STRING) WITH ('connector' = 'kafka')
