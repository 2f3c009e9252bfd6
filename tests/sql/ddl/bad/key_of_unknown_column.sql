-- error: SCHEMA: PRIMARY KEY (idd): there is no column 'idd'. Did you mean 'id'?
CREATE TABLE t (id INT, PRIMARY KEY (idd) NOT ENFORCED) WITH ('connector' = 'upsert-kafka')
