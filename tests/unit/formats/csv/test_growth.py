"""No line of CSV is decoded in more than linear time and memory, in any column and in the tolerant modes."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.csv.schema_inference import infer_from_payloads
from kafka_sql.formats.format import Decoder
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from tests.unit.formats.growth import assert_all_linear, assert_linear, assert_linear_decoding
from tests.unit.formats.hostile_lines import in_all_values, lines
from tests.unit.formats.hostile_texts import COLUMNS, TEXTS

LARGEST: Final = 1 << 14  # bytes
LINES: Final = lines(len(COLUMNS))
TOLERANT: Final = {
    "ignore-parse-errors": "true",
    "escape-character": "\\",
    "trim-spaces": "true",
    "allow-comments": "true",
}


def create_decoder(schema: pa.Schema, options: dict[str, str]) -> Decoder:
    csv = FORMATS["csv"]
    return csv.decoder(schema, Options(csv.options, {f"csv.{key}": value for key, value in options.items()}))


# the converters of their types are tested with the same texts
MORE_COLUMNS: Final = ("b", "i64", "y", "day", "t", "ltz", "r")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "column", ["d", "n", "s", "a", *(pytest.param(name, marks=pytest.mark.long) for name in MORE_COLUMNS)]
)
@pytest.mark.parametrize("quoted", [False, pytest.param(True, marks=pytest.mark.long)])
def test_values(column: str, quoted: bool) -> None:
    decoder = create_decoder(pa.schema([COLUMNS.field(column)]), {"ignore-parse-errors": "true"})
    shapes = {name: in_all_values(1, text, quoted) for name, text in TEXTS.items()}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(decoder, make, LARGEST))


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [TOLERANT, {"null-literal": "1"}])
def test_lines(options: dict[str, str]) -> None:
    decoder = create_decoder(COLUMNS, options)
    assert_all_linear(LINES, lambda make: assert_linear_decoding(decoder, make, LARGEST))


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [{}, TOLERANT])
def test_escapes(options: dict[str, str]) -> None:
    decoder = create_decoder(COLUMNS, {"escape-character": "\\", **options})
    shapes = {name: in_all_values(len(COLUMNS), TEXTS[name]) for name in ("backslashes", "quotes", "spaces", "letters")}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(decoder, make, LARGEST))


def test_inferred_columns() -> None:
    def infer(payload: bytes) -> None:
        errors: list[DecodeError] = []
        infer_from_payloads([payload], Options(FORMATS["csv"].options, {}), errors)

    shapes = {name: in_all_values(2, text) for name, text in TEXTS.items()}
    assert_all_linear({**LINES, **shapes}, lambda make: assert_linear(make, infer, LARGEST))
