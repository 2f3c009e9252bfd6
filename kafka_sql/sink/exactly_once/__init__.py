"""Exactly-once: tasks prepare Kafka transactions, the driver records its decision in Kafka, then ends them.

``docs/exactly-once.md`` tells how; prepare (tasks), committer (driver), tools (by hand).
"""
