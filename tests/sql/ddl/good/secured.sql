CREATE TABLE secured (id BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 't', 'format' = 'csv',
  'properties.security.protocol' = 'SASL_SSL',
  'properties.ssl.truststore.location' = '/etc/kafka/trust.jks',
  'properties.ssl.truststore.password' = 'one',
  'properties.sasl.mechanism' = 'SCRAM-SHA-256',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p";'
)
