-- error: UNSUPPORTED_SQL: CREATE TABLE t: DISTRIBUTED is not supported: the producer's partitioner distributes records
CREATE TABLE t (id INT) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS WITH ('connector' = 'kafka')
