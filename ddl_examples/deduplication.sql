-- Of each key in a stream, find the newest row, and the two rows with the greatest values.
CREATE TABLE page_views (
  user_name STRING,
  page STRING,
  seconds INT,
  ts TIMESTAMP(3)
) WITH (
  ${kafka},
  'topic' = 'page-views',
  'format' = 'json'
);

CREATE TABLE last_page (
  user_name STRING,
  page STRING,
  PRIMARY KEY (user_name) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'last-page',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE TABLE longest_views (
  user_name STRING,
  place BIGINT,
  page STRING,
  seconds INT,
  PRIMARY KEY (user_name, place) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'longest-views',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO page_views VALUES
  ('ada', 'start', 5, TIMESTAMP_NTZ '2026-01-02 03:04:05'),
  ('ada', 'prices', 70, TIMESTAMP_NTZ '2026-01-02 03:05:00'),
  ('ada', 'help', 20, TIMESTAMP_NTZ '2026-01-02 03:04:30'),
  ('emmy', 'start', 3, TIMESTAMP_NTZ '2026-01-02 03:04:00');

SET 'execution.checkpointing.dir' = '/checkpoints';

INSERT INTO last_page
SELECT user_name, page
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY user_name ORDER BY ts DESC) AS place
  FROM STREAM page_views
)
WHERE place = 1;

INSERT INTO longest_views
SELECT user_name, place, page, seconds
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY user_name ORDER BY seconds DESC) AS place
  FROM STREAM page_views
)
WHERE place <= 2;

SELECT * FROM last_page ORDER BY user_name;
--> ada | prices
--> emmy | start

SELECT * FROM longest_views ORDER BY user_name, place;
--> ada | 1 | prices | 70
--> ada | 2 | help | 20
--> emmy | 1 | start | 3
