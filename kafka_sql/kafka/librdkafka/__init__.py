"""Consume and produce with librdkafka, for settings and records that the direct client does not support."""
