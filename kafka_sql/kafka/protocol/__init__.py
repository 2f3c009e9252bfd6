"""The few requests of Kafka's protocol that librdkafka does not offer: describing, listing and ending transactions of
producers that are gone. Over the same security as the client.
"""
