"""Formats: decode payloads to Arrow columns and encode them, a whole buffer at a time. The registry lists all formats.

Nothing here depends on Spark or on a Kafka client.
"""
