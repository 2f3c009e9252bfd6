"""Write metadata columns: timestamp, headers, topic and row kind of each record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import EncodeError, InvalidOptionError, SchemaError
from kafka_sql.kafka.record_metadata import metadata_keys
from kafka_sql.kafka.topic_partition import INTERNAL_TOPICS
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.runtime import arrow_compute as pc
from kafka_sql.suggestions import did_you_mean
from kafka_sql.table.metadata_casts import Cast, invalid_type_error, needs_time_zone, write_cast


@dataclass(frozen=True)
class WritableMetadataColumn:
    """A declared metadata column that INSERT INTO writes."""

    name: str
    key: str
    cast: Cast  # converts the column to the type of the key
    needs_time_zone: bool  # whether the cast depends on the session's time zone


def resolve_metadata_columns(definition: Definition, schema: pa.Schema) -> dict[str, WritableMetadataColumn]:
    """Return the metadata columns to write, by metadata key.

    Args:
        schema: schema of the rows to write. Metadata columns may be missing.

    Raises:
        SchemaError: a key is read-only, a column's type does not match its key, or both keys for headers are used.
        InvalidOptionError: the table has several topics, but no column with the topic of each row is written.
    """
    columns: dict[str, WritableMetadataColumn] = {}
    writable, keys = _writable_keys(definition), metadata_keys(definition.has_changes)
    for column in definition.table.persisted_columns:
        key = column.metadata
        if key is None:
            continue
        if key not in writable:
            raise SchemaError(
                f"Invalid metadata key '{key}' in column '{column.name}' of table '{definition.name}'. The Kafka sink "
                f"supports the following metadata keys for writing: {', '.join(writable)}. To only read it, "
                "declare the column METADATA VIRTUAL.",
                column=column.name,
                table=definition.name,
            )
        if column.name not in schema.names:
            continue
        source, target = schema.field(column.name).type, keys[key].type
        convert = write_cast(source, target, column.declared)
        if convert is None:
            expected_type = keys[key].flink_type.removesuffix(" NOT NULL")
            raise invalid_type_error(definition.name, column.name, key, column.declared, expected_type, is_read=False)
        columns[key] = WritableMetadataColumn(column.name, key, convert, needs_time_zone(source, target))
    if "headers" in columns and "header-list" in columns:
        raise SchemaError(
            "The writable metadata is ambiguous. Please use either metadata key 'headers' or 'header-list': declare "
            f"the other column of table '{definition.name}' METADATA VIRTUAL.",
            table=definition.name,
        )
    if "topic" in writable and "topic" not in columns:
        raise InvalidOptionError(
            f"Table '{definition.name}' has several topics. Expected a single topic but no topic is set: declare a "
            "column `topic STRING METADATA` and write each row's topic to it.",
            table=definition.name,
        )
    return columns


def _writable_keys(definition: Definition) -> list[str]:
    """Return the writable keys. 'topic' is one if the table has several topics (KafkaDynamicSink)."""
    has_single_topic = single_topic(definition) is not None
    keys = metadata_keys(definition.has_changes)
    return [key for key, spec in keys.items() if spec.writable and not (has_single_topic and key == "topic")]


def single_topic(definition: Definition) -> str | None:
    """Return the table's topic; None if each row has its own topic."""
    topics = opt.topics(definition.options) or ()
    return topics[0] if len(topics) == 1 else None


def check_row_topics(definition: Definition, topics: pa.StringArray) -> pa.StringArray:
    """Check and return the topics of the rows.

    Raises:
        EncodeError: a topic is null, or not one of the table's topics.
    """
    topic_list, pattern = opt.topics(definition.options) or (), definition.options.get(opt.TOPIC_PATTERN)
    expected = f"match: {pattern}" if pattern is not None else f"be in: [{', '.join(topic_list)}]"
    error = f"Table '{definition.name}': the topic of the sink record is not valid. Expected topic to {expected} but"
    if topics.null_count:
        raise EncodeError(f"{error} no topic is set.")
    matches = compile_java_pattern(pattern).fullmatch if pattern is not None else topic_list.__contains__
    for topic in pc.unique(topics).to_pylist():
        if not matches(topic) or (pattern is not None and topic in INTERNAL_TOPICS):
            raise EncodeError(f"{error} was: {topic}.{did_you_mean(topic, topic_list)}")
    return topics


def to_epoch_millis(column: pa.TimestampArray, name: str) -> npt.NDArray[np.int64]:
    """Return record timestamps as int64 milliseconds since the epoch; -1 (the time of writing) for null.

    Raises:
        EncodeError: a timestamp is negative, which Kafka does not allow.
    """
    micros = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    smallest = pc.min(micros).as_py()
    if smallest is not None and smallest < 0:
        raise _unsupported_timestamp(name, "a timestamp before 1970-01-01 00:00:00 UTC, which Kafka does not support")
    millis = pc.divide(micros, 1000).fill_null(-1)
    return np.asarray(millis)


def check_librdkafka_timestamps(millis: npt.NDArray[np.int64], name: str) -> None:
    """Reject a timestamp of 0, which librdkafka takes as "now".

    Raises:
        EncodeError: a timestamp is 0.
    """
    if (millis == 0).any():
        problem = "the timestamp 1970-01-01 00:00:00 UTC, which librdkafka does not support"
        raise _unsupported_timestamp(name, problem, f", or set '{opt.SINK_CLIENT.key}' = '{opt.DIRECT}'")


def _unsupported_timestamp(name: str, problem: str, alternative: str = "") -> EncodeError:
    return EncodeError(
        f"Column '{name}' (METADATA FROM 'timestamp') has {problem}. Write NULL to use the time of writing"
        f"{alternative}.",
        field=name,
    )


def cast_column(column: WritableMetadataColumn, array: pa.Array, zone: str) -> pa.Array:
    """Return the column converted to the type of its metadata key.

    Raises:
        EncodeError: a local time does not exist in the session's time zone, because clocks were set forward.
    """
    try:
        return column.cast(array, zone)
    except pa.ArrowInvalid as e:
        raise EncodeError(
            f"Column '{column.name}' (METADATA FROM '{column.key}') has a local time that does not exist in the "
            f"session's time zone '{zone}': {e}.",
            field=column.name,
        ) from e
