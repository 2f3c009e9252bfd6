-- error: SCHEMA: Column 'id': unknown type 'INTT'. Did you mean 'INT'?
CREATE TABLE t (id INTT) WITH ('connector' = 'kafka')
