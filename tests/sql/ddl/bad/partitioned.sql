-- error: UNSUPPORTED_SQL: CREATE TABLE t: PARTITIONED BY is not supported: Kafka partitions the topic, not the table
CREATE TABLE t (id INT) PARTITIONED BY (id) WITH ('connector' = 'kafka')
