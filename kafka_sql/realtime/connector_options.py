"""Translate a table's options to those of Spark's Kafka source and sink."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kafka_sql.definition import Definition
from kafka_sql.kafka.topic_partition import DECISION_LOG_TOPIC, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.realtime.checks import HEADER_KEYS
from kafka_sql.realtime.client_properties import java_properties


def reader_options(definition: Definition, starts: Mapping[TopicPartition, int] | None) -> dict[str, str]:
    """Return the options of Spark's source.

    Args:
        starts: the start offset of each partition; None if the query continues from a checkpoint.

    Raises:
        KafkaSqlError: see ``java_properties``.
    """
    options = {f"kafka.{key}": value for key, value in java_properties(definition).items()}
    partitions = definition.options.get(opt.SCAN_PARTITIONS)
    topics = opt.topics(definition.options)
    if partitions is not None:
        options["assign"] = json.dumps(_by_topic(partitions))
    elif topics is not None:
        options["subscribe"] = ",".join(topics)
    else:
        # Java's consumer excludes Kafka's internal topics
        options["subscribePattern"] = f"(?!{DECISION_LOG_TOPIC}$)(?:{definition.options[opt.TOPIC_PATTERN]})"
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
        KafkaSqlError: see ``java_properties``.
    """
    (topic,) = opt.topics(definition.options) or ()
    return {**{f"kafka.{key}": value for key, value in java_properties(definition).items()}, "topic": topic}


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    nested: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        nested.setdefault(topic, []).append(partition)
    return nested
