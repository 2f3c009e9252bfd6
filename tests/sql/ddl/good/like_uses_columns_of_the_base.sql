CREATE TABLE base (price DECIMAL(10, 2), quantity INT, seen TIMESTAMP(3)) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE priced (
  cost AS price * quantity,
  WATERMARK FOR seen AS seen - INTERVAL '5' SECOND,
  PRIMARY KEY (quantity) NOT ENFORCED
) LIKE base;
