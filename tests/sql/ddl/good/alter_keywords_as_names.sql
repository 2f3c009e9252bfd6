CREATE TABLE t (first INT, after INT, add INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
ALTER TABLE t ADD (modify STRING AFTER first, position INT FIRST, watermark INT, columns INT);
ALTER TABLE t DROP (after, add);
