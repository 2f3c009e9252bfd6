-- Write a topic continuously into a table of files, each record once. For updates and deletes, use Delta Lake or Iceberg:
-- see docs/targets.md. With IF NOT EXISTS and LOCATION, the file can be run again.
CREATE TABLE clicks (
  user_id INT,
  page STRING,
  clicked TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
  ${kafka},
  'topic' = 'clicks',
  'format' = 'json'
);

CREATE TABLE IF NOT EXISTS click_archive (user_id INT, page STRING, day DATE)
USING parquet PARTITIONED BY (day) LOCATION '/data/click_archive';

INSERT INTO clicks VALUES
  (1, '/home', TIMESTAMP '2026-01-02 03:04:05Z'),
  (2, '/home', TIMESTAMP '2026-01-02 03:04:06Z'),
  (1, '/cart', TIMESTAMP '2026-01-03 03:04:07Z');

SET 'execution.checkpointing.dir' = '/checkpoints';

SET 'execution.runtime-mode' = 'streaming';

-- A new query with the same name and checkpoint folder resumes there: no row is written twice.
INSERT INTO click_archive SELECT user_id, page, to_date(clicked) FROM clicks;

SET 'execution.runtime-mode' = 'batch';

SELECT day, count(*), count(DISTINCT user_id) FROM click_archive GROUP BY day ORDER BY day;
--> 2026-01-02 | 2 | 2
--> 2026-01-03 | 1 | 1

DROP TABLE click_archive;
