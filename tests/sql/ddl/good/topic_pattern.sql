CREATE TABLE many (a INT, topic STRING METADATA VIRTUAL) WITH (
  'connector' = 'kafka', 'topic-pattern' = 'test-topic-[0-9]', 'scan.topic-partition-discovery.interval' = '1 min',
  'scan.startup.mode' = 'specific-offsets',
  'scan.startup.specific-offsets' = 'partition:0,offset:42;partition:1,offset:300', 'format' = 'json')
