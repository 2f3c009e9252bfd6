"""Convert the configuration of Java's Kafka clients for librdkafka: properties, JAAS, Kerberos and key stores."""
