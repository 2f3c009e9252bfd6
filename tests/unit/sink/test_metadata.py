"""Writing metadata columns: which keys are writable, and the checks of timestamps and topics."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import EncodeError, InvalidOptionError, SchemaError
from kafka_sql.sink.metadata import (
    check_librdkafka_timestamps,
    check_row_topics,
    resolve_metadata_columns,
    to_epoch_millis,
)
from kafka_sql.table.table import Column, Table


def table(*metadata: tuple[str, str], topic: str = "t", is_pattern: bool = False) -> Definition:
    """Return a table with a column per pair of metadata key and type."""
    columns = (Column("a", "INT", "INT"), *(Column(key, type, type, metadata=key) for key, type in metadata))
    options = {
        "connector": "kafka",
        "topic-pattern" if is_pattern else "topic": topic,
        "properties.bootstrap.servers": "h:1",
        "format": "json",
    }
    return validate_table(Table(("orders",), columns, options))


def schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema({"a": pa.int32(), **columns})


def test_columns_that_the_query_does_not_write_are_omitted() -> None:
    definition = table(("timestamp", "TIMESTAMP"))
    assert resolve_metadata_columns(definition, schema()) == {}
    columns = resolve_metadata_columns(definition, schema(timestamp=pa.timestamp("us", "UTC")))
    assert [(key, column.name, column.key) for key, column in columns.items()] == [
        ("timestamp", "timestamp", "timestamp")
    ]


def test_a_read_only_key_is_rejected() -> None:
    definition = table(("offset", "BIGINT"))
    with pytest.raises(SchemaError, match=r"Invalid metadata key 'offset' .* keys for writing: (?!.*topic)") as raised:
        resolve_metadata_columns(definition, schema(offset=pa.int64()))
    assert (raised.value.column, raised.value.table) == ("offset", "orders")


def test_the_topic_of_a_row_is_writable_only_with_several_topics() -> None:
    with pytest.raises(SchemaError, match="Invalid metadata key 'topic'"):
        resolve_metadata_columns(table(("topic", "STRING")), schema(topic=pa.string()))
    for definition in (
        table(("topic", "STRING"), topic="t;u"),
        table(("topic", "STRING"), topic="t.*", is_pattern=True),
    ):
        assert list(resolve_metadata_columns(definition, schema(topic=pa.string()))) == ["topic"]


def test_several_topics_require_the_topic_of_each_row() -> None:
    definition = table(("topic", "STRING"), topic="t;u")
    with pytest.raises(InvalidOptionError, match="has several topics"):
        resolve_metadata_columns(definition, schema())


@pytest.mark.parametrize(("millis", "micros"), [([-1], [None]), ([], []), ([0, -1, 7], [0, None, 7999])])
def test_epoch_millis(millis: list[int], micros: list[int | None]) -> None:
    column = pa.array(micros, pa.timestamp("us", "UTC"))
    assert to_epoch_millis(column, "ts").tolist() == millis


def test_a_timestamp_that_kafka_does_not_support() -> None:
    column = pa.array([1_000_000, -1], pa.timestamp("us", "UTC"))
    with pytest.raises(EncodeError, match=r"Column 'ts' .* before 1970-01-01 00:00:00 UTC, which Kafka") as raised:
        to_epoch_millis(column, "ts")
    assert raised.value.field == "ts"


def test_a_timestamp_that_librdkafka_does_not_support() -> None:
    check_librdkafka_timestamps(np.array([-1, 1]), "ts")
    with pytest.raises(EncodeError, match=r"Column 'ts' .* 1970-01-01 00:00:00 UTC, which librdkafka") as raised:
        check_librdkafka_timestamps(np.array([-1, 1, 0]), "ts")
    assert raised.value.field == "ts"
    assert str(raised.value).endswith("or set 'sink.client' = 'direct'.")


def test_timestamps_of_other_units() -> None:
    times = [datetime(2024, 1, 1, tzinfo=timezone.utc)]
    assert to_epoch_millis(pa.array(times, pa.timestamp("ms", "UTC")), "ts").tolist() == [1_704_067_200_000]


def test_topics_of_rows() -> None:
    topic_list, topic_pattern = table(topic="t;u"), table(topic="t[0-9]+", is_pattern=True)
    assert check_row_topics(topic_list, pa.array(["t", "u", "t"])).to_pylist() == ["t", "u", "t"]
    assert check_row_topics(topic_pattern, pa.array(["t1", "t22"])).to_pylist() == ["t1", "t22"]
    with pytest.raises(EncodeError, match=r"Expected topic to be in: \[t, u\] but was: v\."):
        check_row_topics(topic_list, pa.array(["t", "v"]))
    with pytest.raises(EncodeError, match=r"Expected topic to match: t\[0-9\]\+ but was: t1x\."):
        check_row_topics(topic_pattern, pa.array(["t1x"]))
    for topic in ("__consumer_offsets", "__kafka_sql_transactions"):
        with pytest.raises(EncodeError, match=rf"Expected topic to match: \.\* but was: {topic}"):
            check_row_topics(table(topic=".*", is_pattern=True), pa.array([topic]))
    with pytest.raises(EncodeError, match=r"but no topic is set\."):
        check_row_topics(topic_list, pa.array(["t", None]))


def test_the_row_kind_of_a_changelog_is_writable() -> None:
    columns = (Column("a", "INT", "INT"), Column("kind", "STRING", "STRING", metadata="row-kind"))
    options = {
        "connector": "kafka",
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        "format": "debezium-json",
    }
    definition = validate_table(Table(("changes",), columns, options))
    assert set(resolve_metadata_columns(definition, schema(kind=pa.string()))) == {"row-kind"}
