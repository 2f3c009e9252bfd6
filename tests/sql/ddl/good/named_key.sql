CREATE TABLE users (id STRING, CONSTRAINT `the key` PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka')
