"""The options of the connectors ``kafka`` and ``upsert-kafka``, each of them once.

Keys, types, defaults and meanings: KafkaConnectorOptions of Flink's connector, and its factories' lists.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from kafka_sql.options.offsets import parse_partitions
from kafka_sql.options.option import (
    Option,
    Options,
    boolean,
    duration,
    enum,
    integer,
    memory_size,
    parse_duration,
    string,
    string_list,
)
from kafka_sql.options.sink import (  # noqa: F401  # one place to ask for every option
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
PREFIXES: Final = (PROPERTIES_PREFIX, TOPIC_CONFIG_PREFIX)  # of keys that are Kafka's

KAFKA: Final = "kafka"
UPSERT_KAFKA: Final = "upsert-kafka"
CONNECTOR: Final = enum(
    "connector",
    "Which connector the table uses: 'kafka' for a log of rows, 'upsert-kafka' for the latest row of each key.",
    allowed=(KAFKA, UPSERT_KAFKA),
    required=True,
)
TOPIC: Final = string_list(
    "topic",
    "Topic to read from and to write to, or a list separated by ';': 'orders-eu;orders-us'. A table with several "
    "topics is written to by a column `topic STRING METADATA`, whose value must be one of them. Either 'topic' or "
    "'topic-pattern' must be set.",
)
TOPIC_PATTERN: Final = string(
    "topic-pattern",
    "Regular expression in Java's spelling: the table has all topics whose whole name it matches, but not Kafka's "
    "internal ones. Not with 'topic'.",
)
SCAN_PARTITIONS: Final = Option(
    "scan.partitions",
    parse_partitions,
    "List<String>",
    "Partitions to read instead of all that the topics have: 'orders:0,1;returns:3'. Without 'topic' the table has "
    "these topics. New partitions are not looked for.",
)
BOOTSTRAP_SERVERS: Final = string(
    "properties.bootstrap.servers", "Brokers to start from: 'host:port,host:port'.", required=True
)
GROUP_ID: Final = string(
    "properties.group.id",
    "Consumer group, which names the reader to the brokers and whose committed offsets 'group-offsets' starts from.",
)

FORMAT: Final = string(
    "format",
    "Format of the record's value, by its identifier: 'json', 'csv', 'raw' and so on. The same as 'value.format'.",
)
VALUE_FORMAT: Final = string(
    "value.format", "Format of the record's value. The same as 'format'; its options then begin with 'value.'."
)
KEY_FORMAT: Final = string(
    "key.format", "Format of the record's key; its options begin with 'key.'. Needs 'key.fields'."
)
KEY_FIELDS: Final = string_list(
    "key.fields", "Physical columns that make the record's key, in this order, separated by ';'. Needs 'key.format'."
)
KEY_FIELDS_PREFIX: Final = string(
    "key.fields-prefix",
    "Prefix of the names of the key's columns, so that they do not clash with the value's. Inside the key the names "
    "have no prefix. Needs 'value.fields-include' = 'EXCEPT_KEY'.",
)
ALL: Final = "ALL"
EXCEPT_KEY: Final = "EXCEPT_KEY"
VALUE_FIELDS_INCLUDE: Final = enum(
    "value.fields-include",
    "Which physical columns the record's value has: 'ALL' of them, or all 'EXCEPT_KEY', which leaves the key's out.",
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
    "Where a query without a checkpoint starts: at the earliest or the latest offset, at the offsets that the group "
    "has committed, at a time, or at given offsets. A batch query reads from there to the end as of its planning.",
    allowed=(EARLIEST, LATEST, GROUP, TIMESTAMP, SPECIFIC),
    default=GROUP,
)
_OFFSETS: Final = (
    "as 'partition:0,offset:42;partition:1,offset:300', or of several topics "
    "'topic:a,partition:0,offset:42;topic:b,partition:0,offset:7'"
)
STARTUP_OFFSETS: Final = string(
    "scan.startup.specific-offsets",
    f"Offsets to start from in the startup mode 'specific-offsets', {_OFFSETS}. A partition that is not named starts "
    "where the group has committed, or else where 'properties.auto.offset.reset' says ('earliest' unless set).",
)
_MOMENT: Final = (
    "milliseconds since 1970-01-01 UTC, a time such as '2026-03-01T12:00:00Z' (UTC where it says no zone), or one "
    "relative to the start of the query such as '-1 hour'"
)
STARTUP_TIMESTAMP: Final = timestamp(
    "scan.startup.timestamp-millis",
    f"Time to start from in the startup mode 'timestamp': {_MOMENT}. Of each partition, the first record of that time "
    "or later is the first that is read; where there is none, reading starts at the end.",
)
STARTUP_INITIALIZER: Final = string(
    "scan.startup.offsets-initializer",
    "Where to start as a Python function of your own says, written 'module:callable'. Not with 'scan.startup.mode'.",
)
BOUNDED_MODE: Final = enum(
    "scan.bounded.mode",
    "Where a query ends: never, at the latest offset, at the group's offsets, at a time, or at given offsets; in the "
    "streaming mode, too, a query over bounded tables ends by itself. A batch query over an unbounded one ends at the "
    "latest offset.",
    allowed=(UNBOUNDED, LATEST, GROUP, TIMESTAMP, SPECIFIC),
    default=UNBOUNDED,
)
BOUNDED_OFFSETS: Final = string(
    "scan.bounded.specific-offsets",
    f"Offsets to end at (they are not read) in the bounded mode 'specific-offsets', {_OFFSETS}. A partition that is "
    "not named is not read. An end that does not exist yet is waited for.",
)
BOUNDED_TIMESTAMP: Final = timestamp(
    "scan.bounded.timestamp-millis",
    f"Time to end at in the bounded mode 'timestamp': {_MOMENT}. Of each partition, the first record of that time or "
    "later is the first that is not read; where there is none, reading ends at the end.",
)


def _interval(text: str) -> int:
    # the DataStream connector turns discovery off by a negative number
    return 0 if re.fullmatch(r"\s*-\d+\s*", text) else parse_duration(text)


DISCOVERY_INTERVAL: Final = Option(
    "scan.topic-partition-discovery.interval",
    _interval,
    "Duration",
    "How often a stream looks for new partitions and topics, which it reads from their earliest offset; '0' is never. "
    "A bounded stream does not look.",
    default="5 min",
    aliases=("partition.discovery.interval.ms", "properties.partition.discovery.interval.ms"),
)
FAIL: Final = "fail"
IGNORE: Final = "ignore"
MISSING_TOPICS: Final = enum(
    "scan.missing-topics",
    "What to do where a topic of 'topic' does not exist, or a topic that a stream reads is gone: 'fail', or 'ignore' "
    "it until it is there (again).",
    allowed=(FAIL, IGNORE),
    default=FAIL,
)
LOG: Final = "log"
ERROR_HANDLING: Final = enum(
    "error-handling.mode",
    "What to do with a record that cannot be read: 'fail' the query, 'ignore' the record, or 'log' it, which is to "
    "write it into the topic of 'error-handling.log.target', or without one into the log of the task.",
    allowed=(FAIL, IGNORE, LOG),
    default=FAIL,
)
ERROR_TARGET: Final = string(
    "error-handling.log.target",
    "Topic for the records that cannot be read: key, value, headers and timestamp as they are, and headers that say "
    "where each was and why it could not be read. Needs 'error-handling.mode' = 'log'.",
)
FAIL_ON_DATA_LOSS: Final = boolean(
    "scan.fail-on-data-loss",
    "Whether a query fails where records were removed before it read them, or logs what is lost and continues with "
    "what there is.",
    default="true",
)
SCAN_PARALLELISM: Final = integer(
    "scan.parallelism",
    "How many tasks read; without it one a partition. More tasks than partitions: ranges of offsets are cut, so that "
    "rows of one partition are read side by side (not of an 'upsert-kafka' table). Fewer: a task reads several "
    "partitions, shared out by their numbers of offsets.",
    minimum=1,
)
MAX_OFFSETS: Final = integer(
    "scan.max-offsets-per-trigger",
    "At most so many offsets in a micro-batch of a stream, over all partitions, in proportion to what each has to "
    "read. Needs PySpark 4.2.",
    minimum=1,
    bits=64,
)
MIN_OFFSETS: Final = integer(
    "scan.min-offsets-per-trigger",
    "A stream waits until so many offsets can be read, or 'scan.max-trigger-delay' has passed since its last batch. "
    "The first batch and Trigger.AvailableNow do not wait. Needs PySpark 4.2.",
    minimum=1,
    bits=64,
)
MAX_TRIGGER_DELAY: Final = duration(
    "scan.max-trigger-delay",
    "How long 'scan.min-offsets-per-trigger' may hold records back.",
    default="15 min",
)
MAX_BYTES: Final = memory_size(
    "scan.max-bytes-per-trigger",
    "About so many bytes of keys and values in a micro-batch of a stream, such as '64 mb'. How large records are is "
    "estimated from the next ones of each partition. Needs PySpark 4.2.",
)
BATCH_ROWS: Final = integer(
    "scan.batch.max-rows",
    "At most so many records are decoded at once and handed to Spark.",
    minimum=1,
    default="20000",
)
BATCH_BYTES: Final = memory_size(
    "scan.batch.max-bytes",
    "At most so many bytes of keys and values are decoded at once; a single record is always taken. With "
    "'properties.queued.max.messages.kbytes' it bounds the memory of a reading task.",
    default="32 mb",
)


def _rack(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise ValueError("expected 'env:NAME', 'file:/path' or 'module:callable'")
    return text


RACK_ID: Final = Option(
    "scan.rack-id",
    _rack,
    "String",
    "Where the process that reads finds its rack, so that it reads from a replica in that rack: 'env:NODE_AZ', a "
    "variable of its environment; 'file:/path', a file's text; or 'module:callable', a Python function. Each task asks "
    "anew on its own machine. Where it names nothing, 'properties.client.rack' counts, or else the leader answers.",
)
COMMIT_OFFSETS: Final = boolean(
    "commit.offsets.on.checkpoint",
    "Whether a stream commits its offsets to Kafka after each batch, for monitoring: a restarted query goes on by "
    "Spark's checkpoint in any case. Default: true where 'properties.group.id' is set.",
    aliases=("properties.commit.offsets.on.checkpoint",),
)
CLIENT_ID_PREFIX: Final = string(
    "client.id.prefix",
    "Beginning of the client ids under which readers appear at the brokers: '<prefix>-<task>' and "
    "'<prefix>-enumerator-admin-client'. Default: the group's id.",
    aliases=("properties.client.id.prefix",),
)
REGISTER_METRICS: Final = boolean(
    "register.consumer.metrics",
    "Whether a stream's progress tells commits and committed offsets beside the latest offsets. The figures of Flink's "
    "group KafkaConsumer have no equal (see metrics.md).",
    default="true",
    aliases=("properties.register.consumer.metrics",),
)
WATERMARK_EMIT: Final = enum(
    "scan.watermark.emit.strategy",
    "When watermarks are made: 'on-periodic', which is once a micro-batch. 'on-event' is refused: Spark cannot.",
    allowed=("on-periodic", "on-event"),
    default="on-periodic",
)
WATERMARK_GROUP: Final = string(
    "scan.watermark.alignment.group", "Group of sources whose watermarks stay together. Refused: Spark cannot."
)
WATERMARK_DRIFT: Final = duration(
    "scan.watermark.alignment.max-drift", "How far watermarks of a group may be apart. Refused: Spark cannot."
)
WATERMARK_UPDATE: Final = duration(
    "scan.watermark.alignment.update-interval",
    "How often watermarks of a group are compared. Refused: Spark cannot.",
    default="1 s",
)
WATERMARK_IDLE: Final = duration(
    "scan.watermark.idle-timeout",
    "After how long without records a partition no longer holds the watermark back. On Spark none ever does: the "
    "watermark follows the latest event time of all partitions.",
)

_COMMON: Final[tuple[Option[Any], ...]] = (
    CONNECTOR,
    TOPIC,
    TOPIC_PATTERN,
    SCAN_PARTITIONS,
    BOOTSTRAP_SERVERS,
    GROUP_ID,
)
_WATERMARKS: Final = (WATERMARK_EMIT, WATERMARK_GROUP, WATERMARK_DRIFT, WATERMARK_UPDATE, WATERMARK_IDLE)
_BOUNDED: Final = (
    BOUNDED_MODE,
    BOUNDED_OFFSETS,
    BOUNDED_TIMESTAMP,
    DISCOVERY_INTERVAL,
    MISSING_TOPICS,
    FAIL_ON_DATA_LOSS,
    SCAN_PARALLELISM,
)
_READING: Final = (ERROR_HANDLING, ERROR_TARGET, BATCH_ROWS, BATCH_BYTES, CLIENT_ID_PREFIX, RACK_ID)
_STREAMING: Final = (MAX_OFFSETS, MIN_OFFSETS, MAX_TRIGGER_DELAY, MAX_BYTES, COMMIT_OFFSETS, REGISTER_METRICS)
_SINK: Final = (
    DELIVERY_GUARANTEE,
    TRANSACTIONAL_ID_PREFIX,
    TRANSACTION_NAMING,
    SINK_PARALLELISM,
    TOPIC_CREATE,
    TOPIC_PARTITIONS,
    TOPIC_REPLICATION,
    REGISTER_PRODUCER_METRICS,
)

KAFKA_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *_COMMON,
    FORMAT,
    VALUE_FORMAT,
    VALUE_FIELDS_INCLUDE,
    KEY_FORMAT,
    KEY_FIELDS,
    KEY_FIELDS_PREFIX,
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
# No 'key.fields' (the PRIMARY KEY says it), no 'format', no startup mode (always the earliest), no partitioner.
UPSERT_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *_COMMON,
    replace(VALUE_FORMAT, required=True),
    VALUE_FIELDS_INCLUDE,
    replace(KEY_FORMAT, required=True),
    KEY_FIELDS_PREFIX,
    *_BOUNDED,
    *_READING,
    *_WATERMARKS,
    *_SINK,
    FLUSH_ROWS,
    FLUSH_INTERVAL,
)


def topics(options: Options) -> tuple[str, ...] | None:
    """The topics that a table names; None where a pattern says which it has."""
    if options.is_set(TOPIC):
        return options[TOPIC]
    partitions = options.get(SCAN_PARTITIONS)
    return None if partitions is None else tuple(dict.fromkeys(topic for topic, _ in partitions))
