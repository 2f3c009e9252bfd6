"""Formats: payload bytes to Arrow columns and back, a whole buffer at a time. One line in the registry for each.

Nothing here knows of Spark or of a Kafka client.
"""
