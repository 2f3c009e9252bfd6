"""Test metadata of formats with a test format: a byte with the number of rows, a one-character tag, and the value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.definition import validate_table
from kafka_sql.errors import SchemaError
from kafka_sql.formats.format import Decoded, ErrorSink, Format
from kafka_sql.formats.raw import RAW
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import Options
from kafka_sql.source.reader import split_reader
from kafka_sql.source.reader.split_reader import SplitReader
from kafka_sql.table.table import Column, Table

REQUESTED: list[tuple[str, ...]] = []


class TaggedDecoder:
    """Repeats each value as often as its first byte says, with the tag as metadata."""

    def __init__(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> None:
        REQUESTED.append(metadata)
        self._metadata = metadata

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        repeated = [(i, p) for i, p in enumerate(payloads.to_pylist()) for _ in range(p[0])]
        metadata = {
            "tag": pa.array([p[1:2].decode() for _, p in repeated]),
            "size": pa.array([p[0] for _, p in repeated]),
        }
        values = pa.array([p[2:].decode() for _, p in repeated], pa.string())
        return Decoded([values], pa.array([i for i, _ in repeated], pa.int64()), [metadata[k] for k in self._metadata])


TAGGED = Format(
    "tagged",
    (),
    TaggedDecoder,
    RAW.encoder,
    metadata={"tag": pa.string(), "size": pa.int64()},
)
OPTIONS = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "tagged"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that reads three records as a table with the given columns."""
    monkeypatch.setitem(FORMATS, "tagged", TAGGED)

    def read_records(*arguments: Any) -> Iterator[Records]:
        on_client = arguments[-1]
        on_client("direct")
        yield Records(pa.array([b"\1xa", b"\0yb", b"\2zc"], pa.binary()), np.array([5, 6, 7]))

    monkeypatch.setattr(split_reader, "read_records", read_records)

    def run(*columns: tuple[Column, pa.DataType]) -> list[tuple[Any, ...]]:
        REQUESTED.clear()
        definition = validate_table(Table(("t",), tuple(c for c, _ in columns), OPTIONS))
        schema = pa.schema([(c.name, data_type) for c, data_type in columns])
        (batch,) = SplitReader(definition, schema).read(Split("t", 0, 5, 8))
        return list(zip(*batch.to_pydict().values(), strict=True))

    return run


VALUE = (Column("v", "STRING", "STRING"), pa.string())
OFFSET = (Column("o", "BIGINT", "BIGINT", metadata="offset", virtual=True), pa.int64())
TAG = (Column("t", "STRING", "STRING", metadata="value.tag", virtual=True), pa.string())
SIZE = (Column("s", "STRING", "STRING", metadata="value.size", virtual=True), pa.string())


def test_format_metadata_has_the_declared_type(read: Any) -> None:
    assert read(SIZE, VALUE, OFFSET, TAG) == [("1", "a", 5, "x"), ("2", "c", 7, "z"), ("2", "c", 7, "z")]
    assert REQUESTED == [("size", "tag")]


def test_only_declared_format_metadata_is_requested(read: Any) -> None:
    assert read(VALUE, OFFSET) == [("a", 5), ("c", 7), ("c", 7)]
    assert REQUESTED == [()]


def test_an_unknown_key_lists_the_formats_keys(read: Any) -> None:
    invalid = (Column("x", "STRING", "STRING", metadata="value.tga", virtual=True), pa.string())
    with pytest.raises(SchemaError, match=r"for reading: value.tag, value.size, topic, .* Did you mean 'value.tag'"):
        read(VALUE, invalid)


def test_a_type_that_format_metadata_cannot_be_cast_to(read: Any) -> None:
    invalid = (Column("x", "INT", "INT", metadata="value.tag", virtual=True), pa.int32())
    with pytest.raises(SchemaError, match=r"metadata column 'x' with metadata key 'value\.tag' of table 't'"):
        read(VALUE, invalid)
