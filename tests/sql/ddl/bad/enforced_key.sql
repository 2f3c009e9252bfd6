-- error: UNSUPPORTED_SQL: PRIMARY KEY (id): Flink doesn't support ENFORCED mode for PRIMARY KEY constraint
CREATE TABLE t (id INT, PRIMARY KEY (id)) WITH ('connector' = 'upsert-kafka')
