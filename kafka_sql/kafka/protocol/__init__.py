"""A small client of Kafka's protocol in pure Python: it lists, describes and ends transactions of other producers, and
sends and fetches record batches. It takes librdkafka's security settings.
"""
