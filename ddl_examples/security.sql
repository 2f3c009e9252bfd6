-- TLS with a secret reference: the table only has the name of the password, which each process looks up when needed.
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

-- CREATE and DESCRIBE do not need the password.
DESCRIBE payments;
--> id | BIGINT | true | NULL | NULL | NULL | NULL
--> amount | DECIMAL(10, 2) | true | NULL | NULL | NULL | NULL

-- SELECT does. If the variable is not set, the error names it.
SELECT * FROM payments;
--! Option 'properties.sasl.password': reference '${env:KAFKA_PASSWORD}': the environment variable is not set
