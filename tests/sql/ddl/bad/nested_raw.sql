-- error: SCHEMA: Column 'r.x': type RAW('a.B', '') cannot be carried
CREATE TABLE t (r ROW<x RAW('a.B', '')>) WITH ('connector' = 'kafka')
