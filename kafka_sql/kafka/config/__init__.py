"""Kafka client configuration: Java's properties, JAAS, Kerberos and key stores, converted for librdkafka."""
