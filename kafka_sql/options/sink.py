"""Define the options of the sink."""

from __future__ import annotations

from typing import Final

from kafka_sql.options.option import any_string, boolean, duration, enum, integer, string

AT_LEAST_ONCE: Final = "at-least-once"
EXACTLY_ONCE: Final = "exactly-once"
DELIVERY_GUARANTEE: Final = enum(
    "sink.delivery-guarantee",
    "Delivery guarantee of writes. 'at-least-once': a write succeeds when all in-sync replicas have acknowledged the "
    "records; retried tasks may write duplicates. 'exactly-once': each INSERT and each micro-batch of a stream is one "
    "atomic set of Kafka transactions, for consumers with 'isolation.level' = 'read_committed'. 'none' is treated as "
    "'at-least-once'.",
    allowed=(EXACTLY_ONCE, AT_LEAST_ONCE, "none"),
    default=AT_LEAST_ONCE,
    deprecated_keys=("sink.semantic",),
)
TRANSACTIONAL_ID_PREFIX: Final = string(
    "sink.transactional-id-prefix",
    "Prefix of the transactional ids of all writers. Required for 'exactly-once'. It must be unique for each query: a "
    "query that starts with the prefix of a running query fences that query.",
)
ALLOW_NEW_CHECKPOINT: Final = boolean(
    "sink.allow-new-checkpoint",
    "Whether a continuous query with a new checkpoint may write a topic that another query has written 'exactly-once' "
    "with the same 'sink.transactional-id-prefix'. By default it is rejected before it writes, because a query that "
    "has lost its checkpoint would write its rows a second time.",
    default="false",
)
INCREMENTING: Final = "INCREMENTING"
POOLING: Final = "POOLING"
TRANSACTION_NAMING: Final = enum(
    "sink.transaction-naming-strategy",
    "How transactional ids are assigned with 'exactly-once'. 'INCREMENTING' uses a new id for each transaction; "
    "brokers keep each id for a week by default. 'POOLING' reuses the ids of a Python worker in later batches, which "
    "reduces the load on the brokers if there are many batches.",
    allowed=(INCREMENTING, POOLING),
    default=INCREMENTING,
)
DEFAULT: Final = "default"
FIXED: Final = "fixed"
ROUND_ROBIN: Final = "round-robin"
PARTITIONERS: Final = (DEFAULT, FIXED, ROUND_ROBIN)
PARTITIONER: Final = any_string(
    "sink.partitioner",
    "How rows are assigned to partitions. 'default' is the partitioning of Kafka's Java client: by the hash of the "
    "key; without a key, to the same partition until a batch is full, then to the next one. 'fixed': each task writes "
    "to one partition. 'round-robin': the same as 'default' without a key. 'module:Class': a Python class, which is "
    "called once per batch.",
    default=DEFAULT,
)
SINK_PARALLELISM: Final = integer(
    "sink.parallelism",
    "Number of tasks that write. Default: the parallelism of the query. If the table has a key, all rows of a key are "
    "written by one task.",
    minimum=1,
)
TOPIC_CONFIG_PREFIX: Final = "sink.topic.config."
TOPIC_CREATE: Final = boolean(
    "sink.topic.create",
    "Whether the first INSERT creates missing topics, and compares existing ones with the options below. "
    "`sink.topic.config.*` sets topic configurations under Kafka's names, such as "
    "`'sink.topic.config.retention.ms' = '86400000'`.",
    default="false",
)
TOPIC_PARTITIONS: Final = integer(
    "sink.topic.partitions",
    "Number of partitions of created topics. Default: the broker's default. Requires 'sink.topic.create'.",
    minimum=1,
)
TOPIC_REPLICATION: Final = integer(
    "sink.topic.replication-factor",
    "Replication factor of created topics. Default: the broker's default. Requires 'sink.topic.create'.",
    minimum=1,
    bits=16,
)
REGISTER_PRODUCER_METRICS: Final = boolean(
    "register.producer.metrics",
    "Whether the metrics of a stream include those of its sink.",
    default="true",
    aliases=("properties.register.producer.metrics",),
)
FLUSH_ROWS: Final = integer(
    "sink.buffer-flush.max-rows",
    "Maximum number of keys that a task buffers, to write only the last row of each. '0' disables buffering. Must be "
    "set together with 'sink.buffer-flush.interval'.",
    minimum=-(2**31),
    default="0",
)
FLUSH_INTERVAL: Final = duration(
    "sink.buffer-flush.interval",
    "Maximum time that rows are buffered. '0' disables buffering. Must be set together with "
    "'sink.buffer-flush.max-rows'.",
    default="0 s",
)
