-- error: SCHEMA: column 'two' is not a physical column
CREATE TABLE t (id INT, two AS id * 2, PRIMARY KEY (two) NOT ENFORCED) WITH ('connector' = 'upsert-kafka')
