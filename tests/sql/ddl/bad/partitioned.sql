-- error: UNSUPPORTED_SQL: CREATE TABLE t: the clause PARTITIONED BY is not supported
CREATE TABLE t (id INT) PARTITIONED BY (id) WITH ('connector' = 'kafka')
