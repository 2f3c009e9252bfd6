"""Metadata columns as they are written: timestamp, headers, topic and kind of each record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.definition import Definition
from kafka_sql.errors import EncodeError, InvalidOptionError, SchemaError, did_you_mean
from kafka_sql.kafka.record_metadata import metadata_keys
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import java_pattern
from kafka_sql.table.metadata_casts import Cast, needs_zone, refusal, writing


@dataclass(frozen=True)
class WrittenColumn:
    """A declared metadata column that INSERT INTO writes.

    Attributes:
        name: the column's.
        key: Flink's key.
        zoned: whether its value depends on the session's time zone.
    """

    name: str
    key: str
    cast: Cast
    zoned: bool


def written_columns(definition: Definition, schema: pa.Schema) -> dict[str, WrittenColumn]:
    """The metadata columns that are written, by key.

    Args:
        schema: what is written; a column may be absent from it.

    Raises:
        SchemaError: a key that cannot be written, a type that it cannot have, or both keys for headers.
    """
    found: dict[str, WrittenColumn] = {}
    known, keys = _writable(definition), metadata_keys(definition.is_upsert or definition.changes)
    for column in definition.table.persisted:
        key = column.metadata
        if key is None:
            continue
        if key not in known:
            raise SchemaError(
                f"Invalid metadata key '{key}' in column '{column.name}' of table '{definition.name}'. The Kafka sink "
                f"supports the following metadata keys for writing: {', '.join(known)}. Where it is only to be read, "
                "declare the column METADATA VIRTUAL."
            )
        if column.name not in schema.names:
            continue
        kind, target = schema.field(column.name).type, keys[key].type
        convert = writing(kind, target, column.declared)
        if convert is None:
            shown = keys[key].declared.removesuffix(" NOT NULL")
            raise refusal(definition.name, column.name, key, column.declared, shown, reading=False)
        found[key] = WrittenColumn(column.name, key, convert, needs_zone(kind, target))
    if "headers" in found and "header-list" in found:
        raise SchemaError(
            "The writable metadata is ambiguous. Please use either metadata key 'headers' or 'header-list': declare "
            f"the other column of table '{definition.name}' METADATA VIRTUAL."
        )
    if "topic" in known and "topic" not in found:
        raise InvalidOptionError(
            f"Table '{definition.name}' has several topics. Expected a single topic but no topic is set: declare a "
            "column `topic STRING METADATA`, and write to it which of them a row is for."
        )
    return found


def _writable(definition: Definition) -> list[str]:
    """The keys that can be written; a single topic needs no saying (KafkaDynamicSink.listWritableMetadata)."""
    said = single_topic(definition) is not None
    keys = metadata_keys(definition.is_upsert or definition.changes)
    return [key for key, known in keys.items() if known.writable and not (said and key == "topic")]


def single_topic(definition: Definition) -> str | None:
    """The table's topic; None where each row says its own."""
    topics = opt.topics(definition.options) or ()
    return topics[0] if len(topics) == 1 else None


def check_topics(definition: Definition, topics: pa.StringArray) -> pa.StringArray:
    """Each row's topic.

    Raises:
        EncodeError: it is null, or not one of the table's.
    """
    listed, pattern = opt.topics(definition.options) or (), definition.options.get(opt.TOPIC_PATTERN)
    expected = f"match: {pattern}" if pattern is not None else f"be in: [{', '.join(listed)}]"
    wrong = f"Table '{definition.name}': the topic of the sink record is not valid. Expected topic to {expected} but"
    if topics.null_count:
        raise EncodeError(f"{wrong} no topic is set.")
    allowed = java_pattern(pattern).fullmatch if pattern is not None else listed.__contains__
    for topic in pc.unique(topics).to_pylist():
        if not allowed(topic):
            raise EncodeError(f"{wrong} was: {topic}.{did_you_mean(topic, listed)}")
    return topics


def milliseconds(column: pa.TimestampArray, name: str) -> npt.NDArray[np.int64]:
    """Record timestamps: int64 milliseconds, 0 (the time of sending) for null.

    Raises:
        EncodeError: a time that Kafka cannot carry; its client also reads 0 as "now".
    """
    micros = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    smallest = pc.min(micros).as_py()
    if smallest is not None and smallest < 1000:
        raise EncodeError(
            f"Column '{name}' (METADATA FROM 'timestamp') holds a time before 1970-01-01 00:00:00.001 UTC, which a "
            "Kafka record cannot have. Write NULL for the time of sending."
        )
    millis = pc.divide(micros, 1000).fill_null(0)
    return np.asarray(millis)


def converted(column: WrittenColumn, array: pa.Array, zone: str) -> pa.Array:
    """The column in its key's type.

    Raises:
        EncodeError: a local time that does not exist in the session's zone, as clocks went forward.
    """
    try:
        return column.cast(array, zone)
    except pa.ArrowInvalid as e:
        raise EncodeError(
            f"Column '{column.name}' (METADATA FROM '{column.key}') holds a local time that is none in the session's "
            f"time zone '{zone}': {e}."
        ) from e
