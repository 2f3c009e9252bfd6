-- error: SCHEMA: Column 'r.x': type RAW('a.B', '') is not supported
CREATE TABLE t (r ROW<x RAW('a.B', '')>) WITH ('connector' = 'kafka')
