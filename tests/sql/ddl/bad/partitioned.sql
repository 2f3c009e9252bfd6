-- error: UNSUPPORTED_SQL: CREATE TABLE t: it is a partitioned table, but the underlying DynamicTableSink doesn't implement the SupportsPartitioning interface
CREATE TABLE t (id INT) PARTITIONED BY (id) WITH ('connector' = 'kafka')
