"""Define the options of the connectors ``kafka``, ``upsert-kafka`` and ``dynamic-kafka``.

Keys, types, defaults and semantics are those of KafkaConnectorOptions and the table factories of Flink's connector.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from kafka_sql.options import dynamic
from kafka_sql.options.option import (
    Option,
    Options,
    any_string,
    boolean,
    duration,
    enum,
    integer,
    memory_size,
    parse_duration,
    string,
    string_list,
)
from kafka_sql.options.positions import parse_partitions, timestamp

PROPERTIES_PREFIX: Final = "properties."
TOPIC_CONFIG_PREFIX: Final = "sink.topic.config."
PREFIXES: Final = (PROPERTIES_PREFIX, TOPIC_CONFIG_PREFIX)  # of options that are passed to Kafka
KAFKA: Final = "kafka"
UPSERT_KAFKA: Final = "upsert-kafka"
DYNAMIC_KAFKA: Final = "dynamic-kafka"
CONNECTOR: Final = enum(
    "connector",
    "The connector to use: 'kafka' reads and writes a log of rows, 'upsert-kafka' the latest row of each key. "
    "'dynamic-kafka' reads streams whose clusters and topics may change.",
    allowed=(KAFKA, UPSERT_KAFKA, DYNAMIC_KAFKA),
    required=True,
    is_destination=True,
)
TOPIC: Final = string_list(
    "topic",
    "Topic to read from and write to. Several topics are separated by ';': 'orders-eu;orders-us'. To write to a table "
    "with several topics, declare a column `topic STRING METADATA`, whose value must be one of them. Either 'topic' or "
    "'topic-pattern' must be set.",
)
TOPIC_PATTERN: Final = string(
    "topic-pattern",
    "Regular expression, in Java's syntax. The table reads all topics whose full name matches, except the internal "
    "topics of Kafka and '__kafka_sql_transactions'. Cannot be combined with 'topic'.",
)
SCAN_PARTITIONS: Final = Option(
    "scan.partitions",
    parse_partitions,
    "List<String>",
    "Partitions to read, such as 'orders:0,1;returns:3'. By default, all partitions of the topics are read. Without "
    "'topic', the table reads the topics that are listed here. Disables partition discovery.",
)
BOOTSTRAP_SERVERS: Final = string(
    "properties.bootstrap.servers",
    "Comma-separated list of Kafka brokers: 'host:port,host:port'.",
    required=True,
    is_destination=True,
)
GROUP_ID: Final = string(
    "properties.group.id",
    "Id of the consumer group. Offsets are committed to this group, and the startup and bounded modes 'group-offsets' "
    "read its committed offsets.",
)
FORMAT: Final = string(
    "format",
    "Format of the record value, such as 'json', 'csv' or 'raw', or 'module:Class' of a custom format. Equivalent to "
    "'value.format'.",
)
VALUE_FORMAT: Final = string(
    "value.format",
    "Format of the record value. Equivalent to 'format', but the format's options need the prefix 'value.'.",
)

ALL: Final = "ALL"
EXCEPT_KEY: Final = "EXCEPT_KEY"
VALUE_FIELDS_INCLUDE: Final = enum(
    "value.fields-include",
    "Which physical columns the record value contains: 'ALL' columns, or 'EXCEPT_KEY', all but the key columns.",
    allowed=(ALL, EXCEPT_KEY),
    default=ALL,
)
KEY_FORMAT: Final = string(
    "key.format",
    "Format of the record key. The format's options need the prefix 'key.'. Requires 'key.fields'.",
)
KEY_FIELDS: Final = string_list(
    "key.fields",
    "Physical columns that form the record key, in this order, separated by ';'. A name with ';' is put in quotes: "
    "'\"a;b\";c'. Requires 'key.format'.",
)
KEY_FIELDS_PREFIX: Final = any_string(
    "key.fields-prefix",
    "Prefix of the key columns' names in the table, to avoid clashes with value columns. The prefix is not part of the "
    "field names inside the key. Requires 'value.fields-include' = 'EXCEPT_KEY'.",
)

EARLIEST: Final = "earliest-offset"
LATEST: Final = "latest-offset"
GROUP: Final = "group-offsets"
TIMESTAMP: Final = "timestamp"
SPECIFIC: Final = "specific-offsets"
UNBOUNDED: Final = "unbounded"
STARTUP_MODE: Final = enum(
    "scan.startup.mode",
    "Startup position of a query that has no checkpoint: the earliest or latest offsets, the committed offsets of the "
    "consumer group, a timestamp, or specific offsets. A batch query reads from there to the end of the partitions at "
    "planning time.",
    allowed=(EARLIEST, LATEST, GROUP, TIMESTAMP, SPECIFIC),
    default=GROUP,
)
_OFFSETS_FORMAT: Final = (
    "'partition:0,offset:42;partition:1,offset:300', or for several topics "
    "'topic:a,partition:0,offset:42;topic:b,partition:0,offset:7'"
)
STARTUP_OFFSETS: Final = any_string(
    "scan.startup.specific-offsets",
    f"Offsets to start from with the startup mode 'specific-offsets': {_OFFSETS_FORMAT}. Partitions that are not "
    "listed start at the group's committed offset if there is one, else at 'properties.auto.offset.reset' (default: "
    "'earliest').",
)
_TIMESTAMP_FORMATS: Final = (
    "milliseconds since 1970-01-01 UTC, an ISO 8601 timestamp such as '2026-03-01T12:00:00Z' (UTC if it has no time "
    "zone), or an interval before the start of the query such as '-1 hour'"
)
STARTUP_TIMESTAMP: Final = timestamp(
    "scan.startup.timestamp-millis",
    f"Timestamp to start from with the startup mode 'timestamp': {_TIMESTAMP_FORMATS}. Each partition starts at its "
    "first record with this timestamp or a later one, or at its end if there is no such record.",
)
STARTUP_INITIALIZER: Final = any_string(
    "scan.startup.offsets-initializer",
    "Python function that returns the start offsets, as 'module:callable'. Cannot be combined with "
    "'scan.startup.mode'.",
)
BOUNDED_MODE: Final = enum(
    "scan.bounded.mode",
    "Where a query ends: never, at the latest offsets, at the committed offsets of the consumer group, at a timestamp, "
    "or at specific offsets. A streaming query over bounded tables terminates when it reaches the end. A batch query "
    "over an unbounded table ends at the latest offsets.",
    allowed=(UNBOUNDED, LATEST, GROUP, TIMESTAMP, SPECIFIC),
    default=UNBOUNDED,
)
BOUNDED_OFFSETS: Final = any_string(
    "scan.bounded.specific-offsets",
    f"Offsets to end at (exclusive) with the bounded mode 'specific-offsets': {_OFFSETS_FORMAT}. Partitions that are "
    "not listed are not read. If an offset does not exist yet, the query waits for it.",
)
BOUNDED_TIMESTAMP: Final = timestamp(
    "scan.bounded.timestamp-millis",
    f"Timestamp to end at with the bounded mode 'timestamp': {_TIMESTAMP_FORMATS}. Each partition ends before its "
    "first record with this timestamp or a later one, or at its end if there is no such record.",
)


def _parse_interval(text: str) -> int:
    # Flink's DataStream connector disables discovery with a negative number
    return 0 if re.fullmatch(r"\s*-\d+\s*", text) else parse_duration(text)


DISCOVERY_INTERVAL: Final = Option(
    "scan.topic-partition-discovery.interval",
    _parse_interval,
    "Duration",
    "Interval at which a stream discovers new topics and partitions, which it reads from their earliest offset. '0' "
    "disables discovery. Bounded streams do not discover partitions.",
    default="5 min",
    aliases=("partition.discovery.interval.ms", "properties.partition.discovery.interval.ms"),
)

FAIL: Final = "fail"
IGNORE: Final = "ignore"
MISSING_TOPICS: Final = enum(
    "scan.missing-topics",
    "What to do if a topic of 'topic' does not exist, or if a topic is deleted while a stream reads it: 'fail', or "
    "'ignore' it until it is created.",
    allowed=(FAIL, IGNORE),
    default=FAIL,
)
FAIL_ON_DATA_LOSS: Final = boolean(
    "scan.fail-on-data-loss",
    "Whether to fail the query if records were deleted before they could be read. If 'false', the loss is logged and "
    "the query continues at the earliest available offset.",
    default="true",
)
SCAN_PARALLELISM: Final = integer(
    "scan.parallelism",
    "Number of tasks that read the table. Default: one per partition. With more tasks than partitions, partitions are "
    "cut into offset ranges, so that rows of one partition are read concurrently (not for 'upsert-kafka' tables). With "
    "fewer tasks, a task reads several partitions, balanced by their number of offsets.",
    minimum=1,
)

LOG: Final = "log"
ERROR_HANDLING: Final = enum(
    "error-handling.mode",
    "What to do with a record that cannot be decoded: 'fail' the query, 'ignore' the record, or 'log' it. 'log' skips "
    "the record, and writes it to the topic in 'error-handling.log.target', or the error to the task's log.",
    allowed=(FAIL, IGNORE, LOG),
    default=FAIL,
)
ERROR_TARGET: Final = string(
    "error-handling.log.target",
    "Dead letter topic for records that cannot be decoded. Key, value, headers and timestamp are written unchanged, "
    "and additional headers describe the record's origin and the error. Streaming queries write to it, and batch "
    "statements that set this option themselves, in a hint or a DataFrameReader. Requires 'error-handling.mode' = "
    "'log'.",
)

SPARK: Final = "spark"
COMPUTED_FALLBACK: Final = enum(
    "computed-columns.fallback",
    "What to do with a computed column whose expression has no exact equivalent in Spark: 'fail' CREATE TABLE, or "
    "evaluate it as 'spark' does, with a warning. The whole expression is then Spark's, with Spark's functions and "
    "values. Other computed columns keep Flink's values.",
    allowed=(FAIL, SPARK),
    default=FAIL,
)
BATCH_ROWS: Final = integer(
    "scan.batch.max-rows",
    "Maximum number of records that are decoded at once and passed to Spark as one Arrow batch.",
    minimum=1,
    default="20000",
)
BATCH_BYTES: Final = memory_size(
    "scan.batch.max-bytes",
    "Maximum total size of keys and values that are decoded at once. A larger single record is still read. It "
    "limits the memory of a reading task together with 'properties.max.partition.fetch.bytes' and, with librdkafka, "
    "'properties.queued.max.messages.kbytes'.",
    default="32 mb",
)
CLIENT_ID_PREFIX: Final = string(
    "client.id.prefix",
    "Prefix of the client ids of the source: '<prefix>-<task>' and '<prefix>-enumerator-admin-client'. Default: the "
    "value of 'properties.group.id'.",
    aliases=("properties.client.id.prefix",),
)


def _parse_rack(text: str) -> str:
    source, colon, name = text.partition(":")
    if not (source and colon and name):
        raise ValueError("expected 'env:NAME', 'file:/path' or 'module:callable'")
    return text


RACK_ID: Final = Option(
    "scan.rack-id",
    _parse_rack,
    "String",
    "Source of the rack id, with which a task reads from a replica in its own rack: 'env:NODE_AZ' (an environment "
    "variable), 'file:/path' (the content of a file) or 'module:callable' (a Python function). It is resolved by each "
    "task on its machine. If the source is empty, 'properties.client.rack' applies; without that, tasks read from the "
    "partition leaders.",
)

AUTO: Final = "auto"
DIRECT: Final = "direct"
LIBRDKAFKA: Final = "librdkafka"
_CLIENT_NAMES: Final = (AUTO, DIRECT, LIBRDKAFKA)
SCAN_CLIENT: Final = enum(
    "scan.client",
    "Kafka client that reads the table. 'auto': the direct client, which is faster, and librdkafka for what the direct "
    "client does not support; the reason is logged. 'direct': never librdkafka; what the direct client does not "
    "support is an error. 'librdkafka': always librdkafka.",
    allowed=_CLIENT_NAMES,
    default=AUTO,
)
MAX_OFFSETS: Final = integer(
    "scan.max-offsets-per-trigger",
    "Maximum number of offsets per micro-batch of a stream, for all partitions together. Each partition gets a share "
    "in proportion to its backlog. Requires PySpark 4.2.",
    minimum=1,
    bits=64,
)
MIN_OFFSETS: Final = integer(
    "scan.min-offsets-per-trigger",
    "Minimum number of offsets per micro-batch of a stream. The stream waits for them, at most "
    "'scan.max-trigger-delay' after its last batch. The first batch and Trigger.AvailableNow do not wait. Requires "
    "PySpark 4.2.",
    minimum=1,
    bits=64,
)
MAX_TRIGGER_DELAY: Final = duration(
    "scan.max-trigger-delay",
    "Maximum time that 'scan.min-offsets-per-trigger' delays a micro-batch. Requires PySpark 4.2.",
    default="15 min",
)
MAX_BYTES: Final = memory_size(
    "scan.max-bytes-per-trigger",
    "Approximate maximum size of a micro-batch of a stream, such as '64 mb', as the total size of keys and values. "
    "Record sizes are estimated from the next records of each partition. Requires PySpark 4.2.",
)
COMMIT_OFFSETS: Final = boolean(
    "commit.offsets.on.checkpoint",
    "Whether a stream commits its offsets to Kafka after each batch, for monitoring. A restarted query always resumes "
    "from Spark's checkpoint. Default: true if 'properties.group.id' is set.",
    aliases=("properties.commit.offsets.on.checkpoint",),
)
REGISTER_METRICS: Final = boolean(
    "register.consumer.metrics",
    "Whether the progress of a stream includes commit counts and committed offsets in addition to the latest offsets. "
    "The metrics of Flink's group KafkaConsumer are not available (see metrics.md).",
    default="true",
    aliases=("properties.register.consumer.metrics",),
)
ON_PERIODIC: Final = "on-periodic"
WATERMARK_EMIT: Final = enum(
    "scan.watermark.emit.strategy",
    "When watermarks are emitted. Only 'on-periodic' is supported: Spark computes one watermark per micro-batch, from "
    "the latest event time of the previous batches.",
    allowed=(ON_PERIODIC, "on-event"),
    default=ON_PERIODIC,
)
WATERMARK_ALIGNMENT: Final = boolean(
    "scan.watermark.alignment.enabled",
    "Whether a limited stream reads its partitions in the order of their event times, so that no partition's rows are "
    "late because another one was read ahead (see streaming.md). Applies to a table with a WATERMARK and "
    "'scan.max-offsets-per-trigger' or 'scan.max-bytes-per-trigger'. If 'false', each partition is read in proportion "
    "to its backlog.",
    default="true",
)
WATERMARK_GROUP: Final = string(
    "scan.watermark.alignment.group",
    "Group of sources whose watermarks are aligned. Has no effect: the partitions of each table are aligned, and the "
    "watermark of a query follows its slowest table.",
)
WATERMARK_DRIFT: Final = duration(
    "scan.watermark.alignment.max-drift",
    "By how much event time a partition may be read ahead of the others. Records within it are read in proportion to "
    "the backlogs, so that a batch has records of more partitions. The watermark's delay must cover it. A limit of the "
    "batch size, such as 'scan.max-offsets-per-trigger', is required.",
    default="0 s",
)
WATERMARK_UPDATE: Final = duration(
    "scan.watermark.alignment.update-interval",
    "Interval at which partitions are aligned. Has no effect: partitions are aligned in each micro-batch.",
    default="1 s",
)
WATERMARK_IDLE: Final = duration(
    "scan.watermark.idle-timeout",
    "Time without records after which a partition no longer delays the watermark. Has no effect: a partition without "
    "unread records never delays Spark's watermark.",
)

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
ALLOW_NEW_CHECKPOINT: Final = boolean(
    "sink.allow-new-checkpoint",
    "Whether a continuous query with a new checkpoint may write a topic that another query has written 'exactly-once' "
    "with the same 'sink.transactional-id-prefix'. By default it is rejected before it writes, because a query that "
    "has lost its checkpoint would write its rows a second time.",
    default="false",
)
SINK_PARALLELISM: Final = integer(
    "sink.parallelism",
    "Number of tasks that write. Default: the parallelism of the query. If the table has a key, all rows of a key are "
    "written by one task.",
    minimum=1,
)
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
SINK_CLIENT: Final = enum(
    "sink.client",
    "Kafka client that writes the table, and the dead letters of its undecodable records. The values are those of "
    "'scan.client'.",
    allowed=_CLIENT_NAMES,
    default=AUTO,
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

# in the order of the declarations above
_DECLARED: Final[tuple[Option[Any], ...]] = tuple(value for value in [*globals().values()] if isinstance(value, Option))
_UPSERT: Final = (FLUSH_ROWS, FLUSH_INTERVAL)


def _without(*options: Option[Any]) -> list[Option[Any]]:
    return [option for option in _DECLARED if option not in options]


KAFKA_OPTIONS: Final[tuple[Option[Any], ...]] = tuple(_without(*_UPSERT))

# The key's columns are the PRIMARY KEY, and a query always starts at the earliest offset.
_STARTUP: Final = (STARTUP_MODE, STARTUP_OFFSETS, STARTUP_TIMESTAMP, STARTUP_INITIALIZER)
_REQUIRED: Final[dict[Option[Any], str]] = {
    VALUE_FORMAT: "Format of the record value. The format's options need the prefix 'value.'.",
    KEY_FORMAT: "Format of the record key. The format's options need the prefix 'key.'.",
}
UPSERT_OPTIONS: Final[tuple[Option[Any], ...]] = tuple(
    replace(option, required=True, doc=_REQUIRED[option]) if option in _REQUIRED else option
    for option in _without(FORMAT, KEY_FIELDS, *_STARTUP, PARTITIONER)
)

# The connector is only a source. Offsets cannot be listed, because several clusters may have a topic of the same name.
_OF_ONE_CLUSTER: Final = (TOPIC, TOPIC_PATTERN, SCAN_PARTITIONS, STARTUP_OFFSETS, STARTUP_INITIALIZER, BOUNDED_OFFSETS)
_SINK: Final = [option for option in _DECLARED if option.key.startswith(("sink.", "register.producer."))]
_OPTIONAL_SERVERS: Final = replace(
    BOOTSTRAP_SERVERS,
    required=False,
    doc="Kafka brokers of the metadata service 'single-cluster': 'host:port,host:port'. Other services return the "
    "brokers of each cluster.",
)
DYNAMIC_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *dynamic.OPTIONS,
    _OPTIONAL_SERVERS,
    *_without(BOOTSTRAP_SERVERS, *_OF_ONE_CLUSTER, ERROR_TARGET, *_SINK),
)


def topics(options: Options) -> tuple[str, ...] | None:
    """Return the topics that the options name; None if a pattern or a metadata service selects them."""
    if options.is_set(TOPIC):
        return options[TOPIC]
    partitions = options.get(SCAN_PARTITIONS)
    return None if partitions is None else tuple(dict.fromkeys(topic for topic, _ in partitions))
