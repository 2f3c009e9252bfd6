"""The options and the generated rows of datagen, print and blackhole."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BooleanType, IntegerType, StructType

from kafka_sql.catalog.builtin_source import builtin_source_class, generate_rows
from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    KafkaSqlError,
    MissingOptionError,
    SchemaError,
    UnknownOptionError,
)
from kafka_sql.options.builtin_connectors import Generator, parse_generators, row_limit
from kafka_sql.sql.declarations.create import parse_create


def declare(columns: str = "a INT", connector: str = "datagen", **options: str) -> Definition:
    text = ", ".join(f"'{key.replace('__', '.').replace('_', '-')}' = '{value}'" for key, value in options.items())
    return validate_table(
        parse_create(f"CREATE TABLE t ({columns}) WITH ('connector' = '{connector}'{', ' * bool(text)}{text})")
    )


def test_options() -> None:
    definition = declare("a INT, b STRING", fields__a__kind="sequence", fields__a__start="5", fields__a__end="8")
    options = definition.table.options
    assert parse_generators(options, ["a", "b"]) == {"a": Generator("sequence", start=5, end=8)}
    assert row_limit(options, ["a", "b"]) == 4
    assert row_limit({**options, "number-of-rows": "3"}, ["a", "b"]) == 3
    assert row_limit({"connector": "datagen"}, ["a"]) is None
    assert definition.is_builtin
    assert declare(connector="print", print_identifier="x", standard_error="true").is_builtin
    assert declare(connector="blackhole").is_builtin


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        ("a INT", {"row_per_second": "1"}, UnknownOptionError, "'row-per-second' .* Did you mean 'rows-per-second'"),
        ("a INT", {"rows_per_second": "0"}, InvalidOptionError, "'rows-per-second': expected an integer of at least 1"),
        (
            "a INT",
            {"fields__b__min": "1"},
            UnknownOptionError,
            r"'fields\.b\.min': the table has no physical column 'b'",
        ),
        ("a INT", {"fields__a__least": "1"}, UnknownOptionError, r"'fields\.a\.least'"),
        ("a INT", {"fields__a__kind": "x"}, InvalidOptionError, r"'fields\.a\.kind': expected one of 'random'"),
        ("a INT", {"fields__a__min": "x"}, InvalidOptionError, r"'fields\.a\.min'"),
        (
            "a INT",
            {"fields__a__null_rate": "2"},
            InvalidOptionError,
            r"'fields\.a\.null-rate': expected a number from 0",
        ),
        ("a INT", {"fields__a__start": "1"}, ConflictingOptionsError, r"requires 'fields\.a\.kind' = 'sequence'"),
        ("a INT", {"fields__a__kind": "sequence"}, InvalidOptionError, r"requires 'fields\.a\.start' and"),
        ("a INT", {"connector": "print", "number_of_rows": "1"}, UnknownOptionError, "connector 'print'"),
        ("a INT", {"connector": "blackhole", "x": "1"}, UnknownOptionError, "connector 'blackhole'"),
        ("a INT METADATA", {}, SchemaError, "Column 'a': the connector 'datagen' has no metadata columns"),
    ],
)
def test_errors(columns: str, options: dict[str, str], error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error, match=message):
        declare(columns, **options)


def column(arrow_type: pa.DataType, generator: Generator | None = None, start: int = 0, count: int = 1000) -> list[Any]:
    generators = {"a": generator} if generator is not None else {}
    batch = generate_rows(pa.schema([("a", arrow_type)]), generators, "run", start, count)
    batch.validate(full=True)
    assert batch.schema.field(0).type == arrow_type
    assert batch.num_rows == count
    return batch.column(0).to_pylist()  # type: ignore[no-any-return]


def test_values() -> None:
    integers = column(pa.int32(), Generator(min="-1", max="1"))
    assert set(integers) == {-1, 0, 1}
    assert {len(text) for text in column(pa.string())} == {100}
    assert {len(text) for text in column(pa.string(), Generator(length=3, var_len=True))} == {1, 2, 3}
    assert {len(value) for value in column(pa.binary(), Generator(length=5))} == {5}
    assert all(1 <= value < 2 for value in column(pa.float64(), Generator(min="1", max="2")))
    assert all(-(2**63) <= value < 2**63 for value in column(pa.int64()))
    assert 300 < column(pa.int8(), Generator(null_rate=0.5)).count(None) < 700
    assert set(column(pa.bool_())) == {True, False}
    assert all(0 <= value < 100 and value.as_tuple().exponent == -2 for value in column(pa.decimal128(4, 2)))
    past = column(pa.timestamp("us"), Generator(max_past=3_600_000))
    assert 1800 < (max(past) - min(past)).total_seconds() <= 3600
    assert column(pa.int32(), Generator("sequence", start=7, end=9), start=1, count=2) == [8, 9]
    assert column(pa.string(), Generator("sequence", start=7, end=9), count=2) == ["7", "8"]
    assert {len(value) for value in column(pa.list_(pa.int32()), Generator(length=2), count=3)} == {2}
    assert [set(value) for value in column(pa.struct([("x", pa.int8()), ("y", pa.string())]), count=2)] == [
        {"x", "y"}
    ] * 2
    assert all(len(value) == 3 for value in column(pa.map_(pa.string(), pa.int32()), count=3))
    assert len(set(column(pa.date32()))) <= 2


def test_a_retried_task_generates_the_same_rows() -> None:
    assert column(pa.int64(), start=5) == column(pa.int64(), start=5) != column(pa.int64(), start=6)


def test_an_endless_table_cannot_be_read_in_a_batch() -> None:
    definition = declare()
    schema = StructType().add("a", IntegerType())
    source = builtin_source_class("kafka.t", definition, schema)({})
    with pytest.raises(MissingOptionError, match="Set 'number-of-rows', for example in a hint"):
        source.reader(schema)
    stream = source.streamReader(schema)
    first = stream.initialOffset()
    assert (first["row"], first["end"]) == (0, None)
    assert stream.partitions(first, {**first, "row": 5})[0].end == 5


def test_a_type_that_cannot_be_generated() -> None:
    definition = declare("t BOOLEAN", fields__t__kind="sequence", fields__t__start="1", fields__t__end="2")
    with pytest.raises(SchemaError, match="Column 't': a sequence must be a number or a STRING"):
        builtin_source_class("kafka.t", definition, StructType().add("t", BooleanType()))
