CREATE TABLE base (id BIGINT, a TIMESTAMP(3), b TIMESTAMP(3), WATERMARK FOR a AS a) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TABLE copy (WATERMARK FOR b AS b - INTERVAL '1' MINUTE) LIKE base (EXCLUDING WATERMARKS);
