"""No JSON document is decoded in more than linear time and memory, in any column and in the tolerant modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoder
from kafka_sql.formats.json.schema_inference import infer_from_payloads
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from tests.unit.formats.growth import assert_all_linear, assert_linear, assert_linear_decoding
from tests.unit.formats.hostile_documents import NESTED_COLUMNS, VALUES, Bytes, documents, in_all_columns

LARGEST: Final = 1 << 14  # bytes
DOCUMENTS: Final = documents(b'{"i32":1,"s":"x"}')
IGNORE: Final = {"ignore-parse-errors": "true"}


def create_decoder(schema: pa.Schema, options: dict[str, str], name: str = "json") -> Decoder:
    format_ = FORMATS[name]
    return format_.decoder(schema, Options(format_.options, {f"{name}.{key}": v for key, v in options.items()}))


# the converters of their types are tested with the same texts
MORE_COLUMNS: Final = ("b", "i64", "y", "day", "t", "ltz", "r", "as", "md")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "column", ["d", "n", "s", "ar", "mm", *(pytest.param(name, marks=pytest.mark.long) for name in MORE_COLUMNS)]
)
def test_values(column: str) -> None:
    decoder = create_decoder(pa.schema([NESTED_COLUMNS.field(column)]), IGNORE)
    shapes = {name: in_all_columns([column], value) for name, value in VALUES.items()}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(decoder, make, LARGEST))


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [IGNORE, {"fail-on-missing-field": "true"}])
def test_documents(options: dict[str, str]) -> None:
    decoder = create_decoder(NESTED_COLUMNS, options)
    assert_all_linear(DOCUMENTS, lambda make: assert_linear_decoding(decoder, make, LARGEST))


def test_errors_of_values() -> None:
    """The error of a value shows its start, whatever the value is."""
    decoder = create_decoder(pa.schema([("c", pa.date32())]), {})
    shapes = {name: in_all_columns(["c"], value) for name, value in VALUES.items()}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(decoder, make, LARGEST))


def test_json_confluent() -> None:
    decoder = create_decoder(NESTED_COLUMNS, {"url": "http://localhost:1", "subject": "s"}, "json-confluent")

    def with_header(document: Bytes) -> Bytes:
        return lambda size: b"\0\0\0\0\1" + document(size)

    shapes: dict[str, Callable[[int], bytes]] = {name: with_header(make) for name, make in DOCUMENTS.items()}
    shapes |= {"no header": lambda size: b"\1" * size, "a header only": lambda size: b"\0" * size}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(decoder, make, LARGEST))


def test_inferred_columns() -> None:
    def infer(payload: bytes) -> None:
        errors: list[DecodeError] = []
        infer_from_payloads([payload], Options(FORMATS["json"].options, {}), errors)

    shapes = {name: in_all_columns(["c"], value) for name, value in VALUES.items()}
    assert_all_linear({**DOCUMENTS, **shapes}, lambda make: assert_linear(make, infer, LARGEST))
