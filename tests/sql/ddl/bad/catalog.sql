-- error: UNSUPPORTED_SQL: CREATE TABLE c.d.t: a name has at most two parts
CREATE TABLE c.d.t (id INT) WITH ('connector' = 'kafka')
