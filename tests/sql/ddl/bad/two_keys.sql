-- error: SCHEMA: Duplicate primary key definition
CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'upsert-kafka')
