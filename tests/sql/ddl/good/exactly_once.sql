CREATE TABLE sink (a INT) WITH ('connector' = 'kafka', 'topic' = 'a;b', 'format' = 'json', 'sink.partitioner' = 'round-robin',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'p', 'sink.parallelism' = '2',
  'sink.allow-new-checkpoint' = 'true')
