-- error: UNSUPPORTED_SQL: CREATE TABLE t: it is distributed into buckets, but the underlying DynamicTableSink doesn't implement the SupportsBucketing interface
CREATE TABLE t (id INT) DISTRIBUTED BY HASH(id) INTO 4 BUCKETS WITH ('connector' = 'kafka')
