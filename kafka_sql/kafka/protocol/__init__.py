"""The few requests of Kafka's protocol that are asked without librdkafka: describing, listing and ending transactions
of producers that are gone, writing and fetching record batches. Over the same security as the client.
"""
