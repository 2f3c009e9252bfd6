-- error: SCHEMA: Column 'd': DECIMAL(39, 2): the precision of DECIMAL must be between 1 and 38
CREATE TABLE t (d DECIMAL(39, 2)) WITH ('connector' = 'kafka')
