"""Formats: payload bytes to Arrow columns and back, a whole buffer at a time. One file a format, one line in the registry.

Nothing here knows of Spark or of a Kafka client.
"""
