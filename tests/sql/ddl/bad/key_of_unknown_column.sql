-- error: SCHEMA: PRIMARY KEY (idd): column 'idd' not found. Did you mean 'id'?
CREATE TABLE t (id INT, PRIMARY KEY (idd) NOT ENFORCED) WITH ('connector' = 'upsert-kafka')
