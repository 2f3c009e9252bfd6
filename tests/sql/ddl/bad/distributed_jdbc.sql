-- error: INVALID_OPTION: Could not find any connector for identifier 'jdbc'
CREATE TABLE t (id INT) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS WITH ('connector' = 'jdbc')
