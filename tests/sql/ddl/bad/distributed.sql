-- error: UNSUPPORTED_SQL: CREATE TABLE t: the clause DISTRIBUTED is not supported
CREATE TABLE t (id INT) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS WITH ('connector' = 'kafka')
