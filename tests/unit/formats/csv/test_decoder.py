"""Which CSV payloads are decoded to rows, by the loop and the fallback, and the error messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import ConflictingOptionsError, DecodeError, InvalidOptionError, SchemaError
from kafka_sql.formats.csv.decoder import CsvDecoder
from kafka_sql.formats.csv.encoder import CsvEncoder
from kafka_sql.formats.csv.options import CSV_OPTIONS
from kafka_sql.options import Options
from tests.fuzz.decoders import fuzz_lenient_decoder
from tests.hypothesis_examples import examples
from tests.unit.formats.columns import comparable_result, comparable_values
from tests.unit.formats.csv.csv_options import options
from tests.unit.formats.csv.fallback_decoder import CountingDecoder, FallbackDecoder
from tests.unit.formats.random_schemas import SCALARS

PAIR = pa.schema([("a", pa.int64()), ("s", pa.string())])


def outcome(decoder: CsvDecoder, array: pa.Array) -> Any:
    """Return the result of decoding, or the error, in a form that compares exactly."""
    try:
        return comparable_result(decoder.decode(array))
    except DecodeError as e:
        return e.row, e.field, e.reason


def test_slices_and_nulls() -> None:
    array = pa.array([b"no", b"1,x", None, b' 2,"y"', b"no"])
    decoded = CsvDecoder(PAIR, options({})).decode(array[1:4])
    assert [c.to_pylist() for c in decoded.columns] == [[1, 2], ["x", "y"]]
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 2]
    assert CsvDecoder(PAIR, options({})).decode(array[1:2]).payload_indices is None


@pytest.mark.parametrize("array", [pa.array([], pa.binary()), pa.array([None, None], pa.binary())])
def test_null_payloads_produce_no_rows(array: pa.Array) -> None:
    decoded = CsvDecoder(PAIR, options({})).decode(array)
    assert [c.to_pylist() for c in decoded.columns] == [[], []]
    assert (decoded.payload_indices is None) == (len(array) == 0)


def test_only_unsupported_payloads_need_the_fallback() -> None:
    payloads = [f"{i},x".encode() for i in range(10_000)]
    payloads[7_000], payloads[8_000] = b"07000,x", b"8000,x, "
    decoder = CountingDecoder(PAIR, options({}))
    decoded = decoder.decode(pa.array(payloads))
    assert decoded.columns[0].to_pylist() == list(range(10_000))
    assert decoded.payload_indices is None
    assert decoder.fallback_count == 2


NUMBERS = st.one_of(
    st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.floats().map(repr),
    st.integers(-(2**64), 2**64).map(str),
    st.sampled_from(("", " 1", "+1 ", "1.5 ", "0x1", "NaN", "-Infinity", "true", " TRUE ", "2020-02-29", "1582-10-14")),
)


@given(
    texts=st.lists(NUMBERS, min_size=1, max_size=5),
    arrow_type=st.sampled_from(SCALARS),
    nulls=st.sampled_from(({}, {"null-literal": "1"}, {"empty-string-as-null": "true"})),
    trim=st.sampled_from(({}, {"trim-spaces": "true"})),
    ignore=st.sampled_from(({}, {"ignore-parse-errors": "true"})),
)
def test_loop_and_fallback_agree_on_numbers_of_any_length(
    texts: list[str],
    arrow_type: pa.DataType,
    nulls: Mapping[str, str],
    trim: Mapping[str, str],
    ignore: Mapping[str, str],
) -> None:
    schema, csv_options = pa.schema([("a", arrow_type)]), options({**nulls, **trim, **ignore})
    array = pa.array([text.encode() for text in texts])
    assert outcome(CsvDecoder(schema, csv_options), array) == outcome(FallbackDecoder(schema, csv_options), array)


TYPES = [*SCALARS, pa.list_(pa.int32()), pa.struct([("x", pa.string())])]
TEXTS = st.text(st.sampled_from('ab1. ,;"|\\#\n\r\t\0é😀'), max_size=12)


@examples(300)
@given(
    payloads=st.lists(st.none() | TEXTS.map(str.encode) | st.binary(max_size=9), max_size=8),
    column_types=st.lists(st.sampled_from(TYPES), min_size=1, max_size=3),
    option_values=st.fixed_dictionaries({}, optional={
        "ignore-parse-errors": st.just("true"), "trim-spaces": st.just("true"), "allow-comments": st.just("true"),
        "escape-character": st.just("\\"), "null-literal": st.sampled_from(("", "a")),
        "empty-string-as-null": st.just("true"), "field-delimiter": st.sampled_from(("|", " ", "é")),
        "allow-trailing-comma": st.just("false"), "ignore-trailing-unmappable": st.just("true"),
    }),
    nullable=st.booleans(),
)  # fmt: skip
def test_loop_and_fallback_agree(
    payloads: list[bytes | None], column_types: list[pa.DataType], option_values: Mapping[str, str], nullable: bool
) -> None:
    schema = pa.schema([pa.field(str(i), arrow_type, nullable) for i, arrow_type in enumerate(column_types)])
    array, csv_options = pa.array(payloads, pa.binary()), options(option_values)
    assert outcome(CsvDecoder(schema, csv_options), array) == outcome(FallbackDecoder(schema, csv_options), array)


@examples(100)
@given(
    rows=st.lists(st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.text(), st.binary()), max_size=5),
    escape=st.sampled_from(({}, {"escape-character": "\\"})),
)
def test_round_trip(rows: list[tuple[int | None, str, bytes]], escape: Mapping[str, str]) -> None:
    option_values = {"null-literal": "~null~", **escape}
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(columns[0], pa.int64()), pa.array(columns[1], pa.string()), pa.array(columns[2], pa.binary())],
        ["a", "b", "c"],
    )
    payloads = CsvEncoder(batch.schema, options(option_values)).encode(batch)
    decoded = CsvDecoder(batch.schema, options(option_values)).decode(payloads)
    assert [comparable_values(c) for c in decoded.columns] == [comparable_values(c) for c in batch.columns]


@pytest.mark.parametrize(
    ("payload", "field", "reason"),
    [
        (b"x,y", "a", "found 'x', expected BIGINT (-9223372036854775808 to 9223372036854775807)"),
        (b"1", None, "row length mismatch. 2 fields expected but was 1.: 1"),
        (b"1,2,3", None, "has too many entries: expected at most 2, found also '3': 1,2,3"),
        (b'1,"x', None, 'is not valid CSV: missing closing quote for value: 1,"x'),
        (b'1,"x"y', None, "unexpected character 'y': expected column separator character (',') or end-of-line"),
        (b"", None, "is empty: no content to map due to end-of-input"),
        (b"1,\xff", None, "is not utf-8: byte 0xff at 2"),
    ],
)
def test_an_error_has_the_value(payload: bytes, field: str | None, reason: str) -> None:
    with pytest.raises(DecodeError) as e:
        CsvDecoder(PAIR, options({})).decode(pa.array([b"1,x", payload]))
    assert (e.value.row, e.value.field) == (1, field)
    assert reason in e.value.reason


def test_an_error_has_the_path_of_a_nested_field() -> None:
    schema = pa.schema([("l", pa.list_(pa.int32())), ("r", pa.struct([("x", pa.int32())]))])
    decoder = CsvDecoder(schema, options({}))
    for payload, path in ((b"1;x,1", "l[1]"), (b"1,x", "r.x")):
        with pytest.raises(DecodeError) as e:
            decoder.decode(pa.array([payload]))
        assert e.value.field == path


def test_not_null_is_an_error_or_no_row() -> None:
    schema = pa.schema([pa.field("a", pa.int32(), nullable=False)])
    array = pa.array([b"1", b"x", b"n"])
    lenient = CsvDecoder(schema, options({"null-literal": "n", "ignore-parse-errors": "true"})).decode(array)
    assert lenient.columns[0].to_pylist() == [1]
    with pytest.raises(DecodeError, match="declared NOT NULL"):
        CsvDecoder(schema, options({"null-literal": "n"})).decode(array[2:])


@pytest.mark.parametrize(
    ("arrow_type", "message"),
    [
        (pa.map_(pa.string(), pa.int32()), "Unsupported type 'map<string, int32>' for field 'm'"),
        (pa.list_(pa.list_(pa.int32())), "Only simple types are supported in the second level nesting of fields 'm'"),
        (pa.struct([("x", pa.list_(pa.int32()))]), "but was: list<item: int32>"),
    ],
)
def test_an_unsupported_type(arrow_type: pa.DataType, message: str) -> None:
    with pytest.raises(SchemaError) as e:
        CsvEncoder(pa.schema([("m", arrow_type)]), options({}))
    assert message in str(e.value)


def test_invalid_options() -> None:
    with pytest.raises(ConflictingOptionsError, match="quote character and disabled quote character"):
        CsvDecoder(PAIR, options({"quote-character": "'", "disable-quote-character": "true"}))
    for key in ("field-delimiter", "quote-character", "array-element-delimiter", "escape-character"):
        with pytest.raises(InvalidOptionError, match=f"'csv.{key}': must be a string with single character"):
            options({key: "ab"})
        with pytest.raises(InvalidOptionError, match="must be a string with single character"):
            options({key: "😀"})  # two of Java's characters
        assert options({key: "\uffff"}).is_set(next(option for option in CSV_OPTIONS if option.key == f"csv.{key}"))
    for text, character in (("\\t", "\t"), ("\\u0001", "\1"), ("\\\\", "\\"), ("\\7", "\a")):
        assert Options(CSV_OPTIONS, {"csv.field-delimiter": text})[CSV_OPTIONS[0]] == character


FUZZ_OPTIONS = {"ignore-parse-errors": "true", "escape-character": "\\"}


def fuzz(records: int, seed: int) -> int:
    """Decode mutated payloads of a table with columns of all categories; return how many became rows."""
    schema = pa.schema(
        [("a", pa.int64()), ("s", pa.string()), ("d", pa.decimal128(10, 2)), ("t", pa.timestamp("us")),
         ("b", pa.binary()), ("l", pa.list_(pa.float64())), ("r", pa.struct([("x", pa.date32()), ("y", pa.bool_())]))]
    )  # fmt: skip
    valid = [f'{i},"text ""{i}",{i}.5,2020-01-01 00:00:{i:02},AQID,1.5;{i},2020-01-02;true'.encode() for i in range(50)]
    decoder = CsvDecoder(schema, options(FUZZ_OPTIONS))
    return fuzz_lenient_decoder(
        decoder, valid, range(50), records, seed, FallbackDecoder(schema, options(FUZZ_OPTIONS))
    )


def test_mutated_payloads() -> None:
    assert fuzz(5_000, 1) > 500
