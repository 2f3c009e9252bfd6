-- error: UNSUPPORTED_SQL: CREATE TABLE c.d.t: expected table or database.table
CREATE TABLE c.d.t (id INT) WITH ('connector' = 'kafka')
