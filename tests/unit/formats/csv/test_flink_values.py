"""CSV as Flink 2.3 reads and writes it: recorded cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.csv.decoder import CsvDecoder
from kafka_sql.formats.csv.encoder import CsvEncoder
from tests.unit.formats.csv.csv_options import options
from tests.unit.formats.csv.fallback_decoder import FallbackDecoder
from tests.unit.formats.flink_values import column_type, format_values, load_cases

CASES = load_cases("csv/flink_csv.jsonl")


def create_schema(columns: list[list[str]]) -> pa.Schema:
    """Return a schema of columns a, b and c."""
    return pa.schema([(name, column_type(spec)) for name, spec in zip("abc", columns, strict=False)])


def read(decoder: CsvDecoder, payload: bytes) -> tuple[str, list[pa.Array]]:
    """Decode a payload; return the row as text, and the columns."""
    try:
        decoded = decoder.decode(pa.array([payload]))
    except DecodeError:
        return "error", []
    if not len(decoded.columns[0]):
        return "", []
    return f"({','.join(format_values(column)[0] for column in decoded.columns)})", decoded.columns


@pytest.mark.parametrize("start", range(0, len(CASES), 100))
def test_rows_and_payloads_match_flink(start: int) -> None:
    for columns, option_values, text, expected, written_by_flink in CASES[start : start + 100]:
        schema, payload = create_schema(columns), text.encode("latin-1")
        row, arrays = read(CsvDecoder(schema, options(option_values)), payload)
        assert row == expected, (columns, option_values, payload)
        assert read(FallbackDecoder(schema, options(option_values)), payload)[0] == expected
        if written_by_flink is not None and not any("FLOAT" in c or "DOUBLE" in c for c in columns):
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            encoded = CsvEncoder(schema, options(option_values)).encode(batch).to_pylist()
            assert encoded == [written_by_flink.encode("latin-1")], (columns, option_values)


def test_the_cases_cover_rows_errors_and_skipped_records() -> None:
    outcomes = [expected for _, _, _, expected, _ in CASES]
    assert outcomes.count("error") > 100
    assert outcomes.count("") > 10
    assert sum(o not in ("error", "") for o in outcomes) > 400


def encode(columns: Mapping[str, pa.Array], option_values: Mapping[str, str] | None = None) -> list[bytes]:
    """Encode a batch."""
    batch = pa.RecordBatch.from_pydict(dict(columns))
    payloads: list[bytes] = CsvEncoder(batch.schema, options(option_values or {})).encode(batch).to_pylist()
    return payloads


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1.0, 0.1, -0.0, None]), [b"1.0", b"0.1", b"-0.0", b""]),
        (pa.array([float("nan"), float("inf"), float("-inf")]), [b"NaN", b"Infinity", b"-Infinity"]),
        (pa.array(["", "a b", "a-b", 'q"', "a\\b", "x" * 24, "x" * 25, "é" * 24, "😀" * 13]),
         [b"", b'"a b"', b"a-b", b'"q"""', b'"a\\b"', b"x" * 24, b'"' + b"x" * 25 + b'"', "é".encode() * 24,
          b'"' + "😀".encode() * 13 + b'"']),
        (pa.array([["a", None, "b c"], [], None]), [b'"a;;b c"', b"", b""]),
        (pa.array([{"x": 1, "y": "s"}, {}, None], pa.struct([("x", pa.int32()), ("y", pa.string())])),
         [b"1;s", b";", b""]),
        (pa.array([b"\1", None]), [b"AQ==", b""]),
    ],
)  # fmt: skip
def test_an_encoded_value(array: pa.Array, expected: list[bytes]) -> None:
    assert encode({"a": array}) == expected
    padded = pa.concat_arrays([array[:1], array, array[:1]])
    assert encode({"a": padded[1:-1]}) == expected  # a slice


def test_custom_null_literals_and_delimiters() -> None:
    columns: dict[str, Any] = {"a": pa.array([1, None]), "b": pa.array(["x|y", None])}
    assert encode(columns, {"field-delimiter": "|", "null-literal": "NULL"}) == [b'1|"x|y"', b"NULL|NULL"]
    assert encode(columns, {"field-delimiter": "\\t"}) == [b"1\tx|y", b"\t"]
    assert encode(columns, {"field-delimiter": "é", "quote-character": "§"}) == ["1é§x|y§".encode(), "é".encode()]
    assert encode(columns, {"field-delimiter": "|", "disable-quote-character": "true"}) == [b"1|x|y", b"|"]


@pytest.mark.parametrize("quote", ['"', "§"])
def test_an_escape_character_is_doubled_unless_it_is_the_quote_character(quote: str) -> None:
    columns: dict[str, Any] = {"a": pa.array([f"x{quote}\\y"])}
    option_values = {"field-delimiter": "|", "quote-character": quote}
    for escape, doubled in (({}, "\\"), ({"escape-character": "\\"}, "\\\\"), ({"escape-character": quote}, "\\")):
        expected = f"{quote}x{quote}{quote}{doubled}y{quote}"
        assert encode(columns, {**option_values, **escape}) == [expected.encode()]


def test_no_columns_and_no_rows() -> None:
    assert encode({"a": pa.array([], pa.int32())}) == []
