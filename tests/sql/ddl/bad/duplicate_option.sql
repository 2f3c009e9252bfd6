-- error: CONFLICTING_OPTIONS: option 'topic' is set more than once
CREATE TABLE t (id INT) WITH ('connector' = 'kafka', 'topic' = 'a', 'topic' = 'b')
