-- The first INSERT creates the topic if it is missing. If it exists, it is compared with the table.
-- topic shipments: 2 partitions
CREATE TABLE shipments (
  id BIGINT,
  place STRING
) WITH (
  ${kafka},
  'topic' = 'shipments',
  'format' = 'json',
  'sink.topic.create' = 'true',
  'sink.topic.partitions' = '2',
  'sink.topic.config.cleanup.policy' = 'delete'
);

INSERT INTO shipments VALUES (1, 'Bremen');

SELECT * FROM shipments;
--> 1 | Bremen

-- A topic with different settings is an error. It is not changed.
INSERT INTO shipments /*+ OPTIONS('sink.topic.partitions' = '4') */ VALUES (2, 'Kiel');
--! exists and has partitions 2, but option 'sink.topic.partitions' = '4'
