"""Translate a table's options to those of Spark's Kafka source and sink."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.kafka.config.conversions import JAAS
from kafka_sql.kafka.config.jaas import remove_escapes
from kafka_sql.kafka.types import TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.secret_references import resolve_all
from kafka_sql.realtime.checks import HEADER_KEYS, check_property

# properties that Spark sets itself; offsets are in its checkpoint, and this package commits them to the group
_OF_SPARK: Final = frozenset(
    ("group.id", "auto.offset.reset", "enable.auto.commit", "auto.commit.interval.ms", "allow.auto.create.topics")
)
_PEM_CONTENTS: Final = {
    "ssl.truststore.type": ("ssl.truststore.certificates",),
    "ssl.keystore.type": ("ssl.keystore.key", "ssl.keystore.certificate.chain"),
}


def java_properties(definition: Definition) -> dict[str, str]:
    """Return the table's ``properties.*`` under Java's names, with references to secrets resolved on the driver.

    Raises:
        UnsupportedOptionError: Java's clients do not have a property.
        SecretReferenceError: a reference cannot be resolved.
    """
    options = (opt.DISCOVERY_INTERVAL, opt.COMMIT_OFFSETS, opt.CLIENT_ID_PREFIX, opt.REGISTER_METRICS)
    aliases = {alias for option in options for alias in option.aliases}
    prefix = opt.PROPERTIES_PREFIX
    properties = {
        key.removeprefix(prefix): value
        for key, value in definition.table.options.items()
        if key.startswith(prefix) and key not in aliases and key.removeprefix(prefix) not in _OF_SPARK
    }
    for key, value in properties.items():
        check_property(definition, key, value)
    for store, contents in _PEM_CONTENTS.items():
        if any(key in properties for key in contents):
            properties.setdefault(store, "PEM")  # Java's default is JKS, for which it requires a file
    properties = resolve_all(properties, prefix)
    if JAAS in properties:
        properties[JAAS] = remove_escapes(properties[JAAS])  # Java's parser rejects them
    return properties


def reader_options(definition: Definition, starts: Mapping[TopicPartition, int] | None) -> dict[str, str]:
    """Return the options of Spark's source.

    Args:
        starts: the start offset of each partition; None if the query continues from a checkpoint.

    Raises:
        UnsupportedOptionError, SecretReferenceError: see ``java_properties``.
    """
    options = {f"kafka.{key}": value for key, value in java_properties(definition).items()}
    partitions = definition.options.get(opt.SCAN_PARTITIONS)
    topics = opt.topics(definition.options)
    if partitions is not None:
        options["assign"] = json.dumps(_by_topic(partitions))
    elif topics is not None:
        options["subscribe"] = ",".join(topics)
    else:
        options["subscribePattern"] = definition.options[opt.TOPIC_PATTERN]
    options["startingOffsets"] = "earliest"
    if starts:
        nested: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in sorted(starts.items()):
            nested.setdefault(topic, {})[str(partition)] = offset
        options["startingOffsets"] = json.dumps(nested)
    if any(column.metadata in HEADER_KEYS for column in definition.table.source_columns):
        options["includeHeaders"] = "true"
    options["failOnDataLoss"] = str(definition.options[opt.FAIL_ON_DATA_LOSS]).lower()
    return options


def writer_options(definition: Definition) -> dict[str, str]:
    """Return the options of Spark's sink.

    Raises:
        UnsupportedOptionError, SecretReferenceError: see ``java_properties``.
    """
    (topic,) = opt.topics(definition.options) or ()
    return {**{f"kafka.{key}": value for key, value in java_properties(definition).items()}, "topic": topic}


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    nested: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        nested.setdefault(topic, []).append(partition)
    return nested
