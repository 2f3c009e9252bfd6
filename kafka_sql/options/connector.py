"""Define the options of the connectors ``kafka``, ``upsert-kafka`` and ``dynamic-kafka``.

Keys, types, defaults and semantics are those of KafkaConnectorOptions and the table factories of Flink's connector.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from kafka_sql.options.client import AUTO, DIRECT, LIBRDKAFKA, SCAN_CLIENT, SINK_CLIENT  # noqa: F401  # re-exported
from kafka_sql.options.dynamic import (
    ENUMERATOR_MODE,
    METADATA_CLUSTER_ID,
    METADATA_FAILURES,
    METADATA_INTERVAL,
    METADATA_SERVICE,
    STREAM_IDS,
    STREAM_PATTERN,
)
from kafka_sql.options.offsets import parse_partitions
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
from kafka_sql.options.sink import (  # noqa: F401  # re-exported
    ALLOW_NEW_CHECKPOINT,
    AT_LEAST_ONCE,
    DEFAULT,
    DELIVERY_GUARANTEE,
    EXACTLY_ONCE,
    FIXED,
    FLUSH_INTERVAL,
    FLUSH_ROWS,
    PARTITIONER,
    PARTITIONERS,
    POOLING,
    REGISTER_PRODUCER_METRICS,
    ROUND_ROBIN,
    SINK_PARALLELISM,
    TOPIC_CONFIG_PREFIX,
    TOPIC_CREATE,
    TOPIC_PARTITIONS,
    TOPIC_REPLICATION,
    TRANSACTION_NAMING,
    TRANSACTIONAL_ID_PREFIX,
)
from kafka_sql.options.timestamps import timestamp

PROPERTIES_PREFIX: Final = "properties."
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
ALL: Final = "ALL"
EXCEPT_KEY: Final = "EXCEPT_KEY"
VALUE_FIELDS_INCLUDE: Final = enum(
    "value.fields-include",
    "Which physical columns the record value contains: 'ALL' columns, or 'EXCEPT_KEY', all but the key columns.",
    allowed=(ALL, EXCEPT_KEY),
    default=ALL,
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
COMMIT_OFFSETS: Final = boolean(
    "commit.offsets.on.checkpoint",
    "Whether a stream commits its offsets to Kafka after each batch, for monitoring. A restarted query always resumes "
    "from Spark's checkpoint. Default: true if 'properties.group.id' is set.",
    aliases=("properties.commit.offsets.on.checkpoint",),
)
CLIENT_ID_PREFIX: Final = string(
    "client.id.prefix",
    "Prefix of the client ids of the source: '<prefix>-<task>' and '<prefix>-enumerator-admin-client'. Default: the "
    "value of 'properties.group.id'.",
    aliases=("properties.client.id.prefix",),
)
REGISTER_METRICS: Final = boolean(
    "register.consumer.metrics",
    "Whether the progress of a stream includes commit counts and committed offsets in addition to the latest offsets. "
    "The metrics of Flink's group KafkaConsumer are not available (see metrics.md).",
    default="true",
    aliases=("properties.register.consumer.metrics",),
)
WATERMARK_EMIT: Final = enum(
    "scan.watermark.emit.strategy",
    "When watermarks are emitted. Only 'on-periodic' is supported: once per micro-batch.",
    allowed=("on-periodic", "on-event"),
    default="on-periodic",
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
    "Interval at which partitions are aligned. Has no effect: they are aligned in each micro-batch.",
    default="1 s",
)
WATERMARK_IDLE: Final = duration(
    "scan.watermark.idle-timeout",
    "Time without records after which a partition no longer delays the watermark. Has no effect: a partition without "
    "unread records never delays it.",
)

_COMMON: Final[tuple[Option[Any], ...]] = (
    CONNECTOR,
    TOPIC,
    TOPIC_PATTERN,
    SCAN_PARTITIONS,
    BOOTSTRAP_SERVERS,
    GROUP_ID,
)
_WATERMARKS: Final = (
    WATERMARK_EMIT,
    WATERMARK_ALIGNMENT,
    WATERMARK_GROUP,
    WATERMARK_DRIFT,
    WATERMARK_UPDATE,
    WATERMARK_IDLE,
)
_BOUNDED: Final = (
    BOUNDED_MODE,
    BOUNDED_OFFSETS,
    BOUNDED_TIMESTAMP,
    DISCOVERY_INTERVAL,
    MISSING_TOPICS,
    FAIL_ON_DATA_LOSS,
    SCAN_PARALLELISM,
)
_CLIENTS: Final = (BATCH_ROWS, BATCH_BYTES, CLIENT_ID_PREFIX, RACK_ID, SCAN_CLIENT)
_READING: Final = (ERROR_HANDLING, ERROR_TARGET, COMPUTED_FALLBACK, *_CLIENTS)
_STREAMING: Final = (MAX_OFFSETS, MIN_OFFSETS, MAX_TRIGGER_DELAY, MAX_BYTES, COMMIT_OFFSETS, REGISTER_METRICS)
_SINK: Final = (
    DELIVERY_GUARANTEE,
    TRANSACTIONAL_ID_PREFIX,
    TRANSACTION_NAMING,
    ALLOW_NEW_CHECKPOINT,
    SINK_PARALLELISM,
    TOPIC_CREATE,
    TOPIC_PARTITIONS,
    TOPIC_REPLICATION,
    REGISTER_PRODUCER_METRICS,
    SINK_CLIENT,
)

_FORMATS: Final = (FORMAT, VALUE_FORMAT, VALUE_FIELDS_INCLUDE, KEY_FORMAT, KEY_FIELDS, KEY_FIELDS_PREFIX)

KAFKA_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *_COMMON,
    *_FORMATS,
    STARTUP_MODE,
    STARTUP_OFFSETS,
    STARTUP_TIMESTAMP,
    STARTUP_INITIALIZER,
    *_BOUNDED,
    *_READING,
    *_STREAMING,
    *_WATERMARKS,
    *_SINK,
    PARTITIONER,
)
# Without 'key.fields' (the PRIMARY KEY), 'format', the startup mode (always the earliest offset) and the partitioner.
UPSERT_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *_COMMON,
    replace(
        VALUE_FORMAT,
        required=True,
        doc="Format of the record value. The format's options need the prefix 'value.'.",
    ),
    VALUE_FIELDS_INCLUDE,
    replace(KEY_FORMAT, required=True, doc="Format of the record key. The format's options need the prefix 'key.'."),
    KEY_FIELDS_PREFIX,
    *_BOUNDED,
    *_READING,
    *_STREAMING,
    *_WATERMARKS,
    *_SINK,
    FLUSH_ROWS,
    FLUSH_INTERVAL,
)
# The connector is only a source. Offsets cannot be listed, because several clusters may have a topic of the same name.
DYNAMIC_OPTIONS: Final[tuple[Option[Any], ...]] = (
    CONNECTOR,
    STREAM_IDS,
    STREAM_PATTERN,
    METADATA_SERVICE,
    METADATA_CLUSTER_ID,
    METADATA_INTERVAL,
    METADATA_FAILURES,
    ENUMERATOR_MODE,
    replace(
        BOOTSTRAP_SERVERS,
        required=False,
        doc="Kafka brokers of the metadata service 'single-cluster': 'host:port,host:port'. Other services return the "
        "brokers of each cluster.",
    ),
    GROUP_ID,
    *_FORMATS,
    STARTUP_MODE,
    STARTUP_TIMESTAMP,
    *(option for option in _BOUNDED if option is not BOUNDED_OFFSETS),
    ERROR_HANDLING,
    COMPUTED_FALLBACK,
    *_CLIENTS,
    *_STREAMING,
    *_WATERMARKS,
)


def topics(options: Options) -> tuple[str, ...] | None:
    """Return the topics that the options name; None if a pattern or a metadata service selects them."""
    if options.is_set(TOPIC):
        return options[TOPIC]
    partitions = options.get(SCAN_PARTITIONS)
    return None if partitions is None else tuple(dict.fromkeys(topic for topic, _ in partitions))
