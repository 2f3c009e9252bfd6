-- Subscribe to topics by a regular expression, read selected partitions, and start each topic at a different offset.
CREATE TABLE sales_eu (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'sales-eu',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE sales_us WITH ('topic' = 'sales-us') LIKE sales_eu;

CREATE TABLE sales_test WITH ('topic' = 'sales-test') LIKE sales_eu;

-- The pattern must match the whole name. Streams discover new topics every five minutes by default.
CREATE TABLE sales (
  id BIGINT,
  topic STRING METADATA VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic-pattern' = 'sales-(eu|us)',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'scan.topic-partition-discovery.interval' = '1 min',
  'format' = 'json'
);

INSERT INTO sales_eu VALUES (1), (2), (3);

INSERT INTO sales_us VALUES (4), (5);

INSERT INTO sales_test VALUES (6);

SELECT substr(topic, 1, 8), count(*) FROM sales GROUP BY 1 ORDER BY 1;
--> sales-eu | 3
--> sales-us | 2

-- A start offset per topic.
SELECT substr(topic, 1, 8), count(*) FROM sales
/*+ OPTIONS('scan.startup.mode' = 'specific-offsets',
  'scan.startup.specific-offsets' = 'topic:sales-eu,partition:0,offset:2;topic:sales-us,partition:0,offset:0') */
GROUP BY 1 ORDER BY 1;
--> sales-eu | 1
--> sales-us | 2

-- Only these partitions.
CREATE TABLE some_sales (
  id BIGINT
) WITH (
  'connector' = 'kafka',
  'scan.partitions' = 'sales-eu:0;sales-test:0',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

SELECT id FROM some_sales ORDER BY id;
--> 1
--> 2
--> 3
--> 6

-- Patterns with different meanings in Java and Python are rejected.
CREATE TABLE refused WITH ('topic-pattern' = 'sales-[a-z&&[^t]]+') LIKE sales;
--! a nested character class
