"""The options of writing."""

from __future__ import annotations

from typing import Final

from kafka_sql.options.option import boolean, duration, enum, integer, string

AT_LEAST_ONCE: Final = "at-least-once"
EXACTLY_ONCE: Final = "exactly-once"
DELIVERY_GUARANTEE: Final = enum(
    "sink.delivery-guarantee",
    "What a write promises: 'at-least-once' reports rows as written when all in-sync replicas have acknowledged them; "
    "a retried task may write rows again. 'exactly-once' writes each batch of a query, and each INSERT, once and as a "
    "whole, for readers with 'isolation.level' = 'read_committed'. 'none' promises nothing, and is carried out as "
    "'at-least-once'.",
    allowed=(EXACTLY_ONCE, AT_LEAST_ONCE, "none"),
    default=AT_LEAST_ONCE,
    deprecated_keys=("sink.semantic",),
)
TRANSACTIONAL_ID_PREFIX: Final = string(
    "sink.transactional-id-prefix",
    "Beginning of the names of all transactions of the table's writers; required by 'exactly-once'. Each query needs "
    "one of its own: of two that have the same, the newer one ends the older one.",
)
INCREMENTING: Final = "INCREMENTING"
POOLING: Final = "POOLING"
TRANSACTION_NAMING: Final = enum(
    "sink.transaction-naming-strategy",
    "How transactions are named under 'exactly-once': 'INCREMENTING' gives each a name of its own, which the brokers "
    "remember for a week; 'POOLING' lets a Python worker use its names again in the batches that follow, which is "
    "easier on brokers where batches are many.",
    allowed=(INCREMENTING, POOLING),
    default=INCREMENTING,
)
DEFAULT: Final = "default"
FIXED: Final = "fixed"
ROUND_ROBIN: Final = "round-robin"
PARTITIONERS: Final = (DEFAULT, FIXED, ROUND_ROBIN)
PARTITIONER: Final = string(
    "sink.partitioner",
    "Which partition a row goes to: 'default' as Java's client does it (by the key's hash; without a key one partition "
    "after another, each for some milliseconds), 'fixed' (all rows of a task to one), 'round-robin' (the same as "
    "'default' without a key), or a Python class, 'module:Class', which is asked once a batch.",
    default=DEFAULT,
)
SINK_PARALLELISM: Final = integer(
    "sink.parallelism",
    "How many tasks an INSERT writes with; by default as many as the query ends with. A table with a key has all rows "
    "of a key in one of them.",
    minimum=1,
)
TOPIC_CONFIG_PREFIX: Final = "sink.topic.config."
TOPIC_CREATE: Final = boolean(
    "sink.topic.create",
    "Whether the first INSERT makes topics that do not exist, and compares those that do with the options below. "
    "`sink.topic.config.*` are the topic's own settings in Kafka's names, such as "
    "`'sink.topic.config.retention.ms' = '86400000'`.",
    default="false",
)
TOPIC_PARTITIONS: Final = integer(
    "sink.topic.partitions",
    "Partitions of the topic. By default as the broker makes them. Needs 'sink.topic.create'.",
    minimum=1,
)
TOPIC_REPLICATION: Final = integer(
    "sink.topic.replication-factor",
    "Replicas of each partition. By default as the broker makes them. Needs 'sink.topic.create'.",
    minimum=1,
    bits=16,
)
REGISTER_PRODUCER_METRICS: Final = boolean(
    "register.producer.metrics",
    "Whether a stream's metrics tell what its sink has written.",
    default="true",
    aliases=("properties.register.producer.metrics",),
)
FLUSH_ROWS: Final = integer(
    "sink.buffer-flush.max-rows",
    "How many keys a task holds back so that only the last row of each is written; '0' is none. "
    "Only with 'sink.buffer-flush.interval'.",
    minimum=-(2**31),
    default="0",
)
FLUSH_INTERVAL: Final = duration(
    "sink.buffer-flush.interval",
    "How long rows are held back at most; '0' is not at all. Only with 'sink.buffer-flush.max-rows'.",
    default="0 s",
)
