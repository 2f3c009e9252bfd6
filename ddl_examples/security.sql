-- TLS and a password that stands nowhere: the table holds its name, and each process looks it up when it makes a client.
CREATE TABLE payments (
  id BIGINT,
  amount DECIMAL(10, 2)
) WITH (
  'connector' = 'kafka',
  'topic' = 'payments',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.security.protocol' = 'SASL_SSL',
  'properties.sasl.mechanism' = 'SCRAM-SHA-512',
  'properties.sasl.username' = 'shop',
  'properties.sasl.password' = '${env:KAFKA_PASSWORD}', -- or '${file:/path/secrets.properties:key}'
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

-- Declaring and describing it needs no password.
DESCRIBE payments;
--> id | BIGINT | true | NULL | NULL | NULL | NULL
--> amount | DECIMAL(10, 2) | true | NULL | NULL | NULL | NULL

-- Reading it does; on a machine without the variable the error says what is missing.
SELECT * FROM payments;
--! Option 'properties.sasl.password': reference '${env:KAFKA_PASSWORD}': this process has no such variable
