"""The Kafka client: librdkafka's columnar consumer and producer, cluster metadata, Java properties in librdkafka's
words.

The only package that touches librdkafka. It knows nothing of Spark.
"""
