"""Add Spark's Kafka connector to a running application, and translate a table's options to those that it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kafka_sql.definition import Definition
from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.kafka.topic_partition import DECISION_LOG_TOPIC, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.realtime.checks import HEADER_KEYS
from kafka_sql.realtime.client_properties import java_properties
from kafka_sql.spark.jar import add_jar, add_jar_file, load_class

LOCKFILE: Final = Path(__file__).with_name("connector.lock")
_CONNECTOR: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_CLASSES: Final = {  # of other jars
    "jackson-dataformat-csv": "com.fasterxml.jackson.dataformat.csv.CsvFactory",
    "protobuf-java": "com.google.protobuf.CodedInputStream",
}


def add_connector(context: Any, sink: str) -> Any:
    """Add the connector and libraries of formats to the driver and the executors, unless the application has them.

    The jars (12 MB) are downloaded into the user's cache once; their checksums are those of the lockfile.

    Returns:
        the class loader of the driver's jars.

    Raises:
        UnsupportedSqlError: the driver's class loader does not accept jars.
        EmbeddedKafkaError: the jars could not be downloaded.
    """
    loader = add_jar(context)
    if loader is None:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode needs Spark's Kafka connector, which this driver's class loader "
            "does not accept. Start the session with pyspark or spark-submit.",
            table=sink,
        )
    missing = {name for name in (_CONNECTOR, *_CLASSES.values()) if load_class(loader, name) is None}
    for jar in kafka_jars(find_java(), LOCKFILE) if missing else ():
        if _CLASSES.get(jar.name.rpartition("-")[0], _CONNECTOR) in missing:
            add_jar_file(context, loader, jar)
    return loader


def reader_options(definition: Definition, starts: Mapping[TopicPartition, int] | None) -> dict[str, str]:
    """Return the options of Spark's source; ``starts`` is None if the query continues from a checkpoint.

    Errors: see ``java_properties``.

    Raises:
        KafkaSqlError: see ``java_properties``.
    """
    options = {f"kafka.{key}": value for key, value in java_properties(definition).items()}
    partitions = definition.options.get(opt.SCAN_PARTITIONS)
    topics = opt.topics(definition.options)
    if partitions is not None:
        options["assign"] = json.dumps({topic: list(p) for topic, p in _by_topic(dict.fromkeys(partitions, 0)).items()})
    elif topics is not None:
        options["subscribe"] = ",".join(topics)
    else:
        # Java's consumer excludes Kafka's internal topics
        options["subscribePattern"] = f"(?!{DECISION_LOG_TOPIC}$)(?:{definition.options[opt.TOPIC_PATTERN]})"
    options["startingOffsets"] = json.dumps(_by_topic(starts)) if starts else "earliest"
    if any(column.metadata in HEADER_KEYS for column in definition.table.source_columns):
        options["includeHeaders"] = "true"
    options["failOnDataLoss"] = str(definition.options[opt.FAIL_ON_DATA_LOSS]).lower()
    return options


def writer_options(definition: Definition) -> dict[str, str]:
    """Return the options of Spark's sink. Errors: see ``java_properties``.

    Raises:
        KafkaSqlError: see ``java_properties``.
    """
    (topic,) = opt.topics(definition.options) or ()
    return {**{f"kafka.{key}": value for key, value in java_properties(definition).items()}, "topic": topic}


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    nested: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[partition] = offset
    return nested
