-- error: SCHEMA: column 'two' is no physical column
CREATE TABLE t (id INT, two AS id * 2, PRIMARY KEY (two) NOT ENFORCED) WITH ('connector' = 'upsert-kafka')
