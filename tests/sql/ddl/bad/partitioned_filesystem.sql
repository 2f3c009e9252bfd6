-- error: INVALID_OPTION: Could not find any connector for identifier 'filesystem'
CREATE TABLE t (id INT) PARTITIONED BY (id) WITH ('connector' = 'filesystem', 'path' = 'file:///tmp/t')
