-- CREATE TABLE AS: the table has the columns of the query, and the topic its rows.
CREATE TABLE numbers WITH (
  'connector' = 'kafka',
  'topic' = 'numbers',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
) AS SELECT id, id * id AS square FROM range(1, 4);

SELECT * FROM numbers ORDER BY id;
--> 1 | 1
--> 2 | 4
--> 3 | 9
