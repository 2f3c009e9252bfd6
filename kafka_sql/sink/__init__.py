"""Encode Spark's columns as payloads, and write them to topics with a delivery guarantee."""
