"""The compiled loop and the fallback decode JSON to the same rows, or the same error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.options import Options
from tests.hypothesis_examples import examples
from tests.unit.formats.columns import comparable_result
from tests.unit.formats.json.fallback_decoder import CountingDecoder, FallbackDecoder
from tests.unit.formats.json.random_documents import payloads
from tests.unit.formats.random_schemas import schemas


def outcome(decoder: JsonDecoder, array: pa.Array) -> Any:
    """Return the result of decoding, or the error, in a form that compares exactly."""
    try:
        return comparable_result(decoder.decode(array))
    except DecodeError as e:
        return e.row, e.field


ERROR_OPTIONS = st.sampled_from(({}, {"json.ignore-parse-errors": "true"}, {"json.fail-on-missing-field": "true"}))


@examples(100)
@given(data=st.data(), schema=schemas(), error_options=ERROR_OPTIONS, standard=st.sampled_from(TimestampStandard))
def test_loop_and_fallback_agree(
    data: st.DataObject, schema: pa.Schema, error_options: Mapping[str, str], standard: TimestampStandard
) -> None:
    options = Options(JSON_OPTIONS, error_options | {"json.timestamp-format.standard": standard.value})
    documents = data.draw(
        st.lists(payloads(schema, standard, data.draw(st.sampled_from((4, 40)))), min_size=1, max_size=6)
    )
    array = pa.array(documents, pa.binary())
    assert outcome(JsonDecoder(schema, options), array) == outcome(FallbackDecoder(schema, options), array)


PAIR = pa.schema([("a", pa.int32()), ("s", pa.string())])
IGNORE_ERRORS = Options(JSON_OPTIONS, {"json.ignore-parse-errors": "true"})
VALID = b'{"a":1,"s":"x"}'
# Payloads that a JSON reader of whole buffers, such as pyarrow's, would split differently or reject.
TRAPS = [
    b"null",
    b"{}null",
    b"{}{}",
    b"{}null{}",
    b'{"a":1}\0{"a":2}',
    b'{"a":1}{"a":2}\0{}',
    b'{"s":"}',
    b'{"}{}',
    b'{"a":{}',
    b"{}}",
    b"[",
    b"",
    b"\xef\xbb\xbf{}",
    b'{"s":"\xff"}',
    b'{"z":"\xff"}',
    b'{"z":NaN}',
    b'{"z":-Infinity}',
    b'{"z":[1, Inf]}',
    b'{"z": NaN, "s":"x: NaN"}',
    b'{"s":"x: NaN \\" NaN"}',
    b'{"z":1e400}',
    b'{"s":"\\ud800"}',
    b'{"s":"a\nb"}',
    b'{"a":1,"a":2}',
    b'{"z":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    b'{"z":' + b'{"z":' * 200_000 + b"1" + b"}" * 200_001,
    b'{"z":' + b"[" * 1_000_000 + b"}",
    b'{"z":' + b"[" * 999 + b"]" * 999 + b"}",
    b'{"z":' + b"[" * 1000 + b"]" * 1000 + b"}",
    b'{"s":"' + b"[" * 2000 + b'"}',
    b'{"s":' + b"[" * 999 + b"]" * 999 + b"}",
]


@pytest.mark.parametrize("trap", range(len(TRAPS)))
@pytest.mark.parametrize("ignore", ["true", "false"])
@pytest.mark.parametrize("valid_count", [0, 1, 70])
def test_a_trap_among_valid_records(trap: int, ignore: str, valid_count: int) -> None:
    options = Options(JSON_OPTIONS, {"json.ignore-parse-errors": ignore})
    array = pa.array([VALID] * valid_count + [TRAPS[trap], VALID, TRAPS[trap], VALID])
    assert outcome(JsonDecoder(PAIR, options), array) == outcome(FallbackDecoder(PAIR, options), array)


def test_payloads_are_not_joined() -> None:
    # Joined without a newline, these would be two valid documents.
    array = pa.array([b'{"s":"}', b'{"}{}'])
    with pytest.raises(DecodeError) as e:
        JsonDecoder(PAIR, Options(JSON_OPTIONS, {})).decode(array)
    assert e.value.row == 0


def test_only_unsupported_payloads_need_the_fallback() -> None:
    schema = pa.schema([("a", pa.int64())])
    texts = [json.dumps({"a": i}) for i in range(10_000)]
    texts[7_000] = '{"a":7000.0}'
    decoder = CountingDecoder(schema, Options(JSON_OPTIONS, {}))
    decoded = decoder.decode(pa.array([text.encode() for text in texts]))
    assert decoded.columns[0].to_pylist() == list(range(10_000))
    assert decoded.payload_indices is None
    assert decoder.fallback_count == 1


ALL_TYPES = pa.schema(
    [
        pa.field("n", pa.int64(), nullable=False),
        ("f", pa.float32()),
        ("d", pa.decimal128(10, 2)),
        ("b", pa.binary()),
        ("day", pa.date32()),
        ("time", pa.time64("ns")),
        ("ts", pa.timestamp("us")),
        ("ltz", pa.timestamp("us", tz="Europe/Berlin")),
        ("r", pa.struct([pa.field("x", pa.int8(), nullable=False), pa.field("l", pa.list_(pa.timestamp("us")))])),
        ("m", pa.map_(pa.string(), pa.map_(pa.string(), pa.float64()))),
    ]
)
DOCUMENT = (
    '{"n":1,"f":0.1,"d":1.5,"b":"AQI=","day":"2020-12-30","time":"12:13:14.5","ts":"2020-12-30 12:13:14.123","ltz":'
    '"2020-12-30 12:13:14Z","r":{"x":1,"l":["2020-12-30 12:13:14",null]},"info":"says: Info, NaN","more":[{"x":1}],'
    '"m":{"a":{"\\u00e9\\ud83d\\ude00":0.1234567890123456789,"x":1e400},"b":null,"a":{}}}'
)


def test_the_loop_supports_all_types() -> None:
    decoder = CountingDecoder(ALL_TYPES, Options(JSON_OPTIONS, {}))
    with_spaces = json.dumps(json.loads(DOCUMENT), indent=1).encode() + b"\n"
    in_reverse = json.dumps(dict(reversed(json.loads(DOCUMENT).items())), ensure_ascii=False).encode()
    array = pa.array([DOCUMENT.encode()] * 100 + [b'{"n":2}', b' {"n":"3","f":"1.5"} ', with_spaces, in_reverse])
    decoded = decoder.decode(array)
    assert decoder.fallback_count == 0
    assert [c.type for c in decoded.columns] == ALL_TYPES.types
    assert outcome(decoder, array) == outcome(FallbackDecoder(ALL_TYPES, Options(JSON_OPTIONS, {})), array)


@pytest.mark.parametrize("array", [pa.array([], pa.binary()), pa.array([None, b"", None], pa.binary())])
def test_empty_and_null_payloads_produce_no_rows(array: pa.Array) -> None:
    decoded = JsonDecoder(PAIR, Options(JSON_OPTIONS, {})).decode(array)
    assert [c.to_pylist() for c in decoded.columns] == [[], []]
    assert (decoded.payload_indices is None) == (len(array) == 0)


def test_slices_and_nulls() -> None:
    decoder = JsonDecoder(PAIR, Options(JSON_OPTIONS, {}))
    array = pa.array([b"no", b'{"a":1}', None, b'{"a":2}', b"", b'[{"a":3},{"a":4}]', b"no"])
    decoded = decoder.decode(array[1:6])
    assert decoded.columns[0].to_pylist() == [1, 2, 3, 4]
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 2, 4, 4]
    assert decoder.decode(pa.array([b'{"a":1}', b'{"a":2}'])).columns[0].to_pylist() == [1, 2]


@given(st.data(), st.integers(1, 38))
def test_loop_and_fallback_agree_on_decimals(data: st.DataObject, precision: int) -> None:
    arrow_type = pa.decimal128(precision, data.draw(st.integers(0, precision)))
    digits = st.from_regex(r"-?(0|[1-9][0-9]{0,80})(\.[0-9]{1,80})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
    texts = data.draw(st.lists(digits, min_size=1, max_size=4))
    schema, options = pa.schema([("a", arrow_type)]), Options(JSON_OPTIONS, {})
    array = pa.array([f'{{"a":{text}}}'.encode() for text in texts])
    assert outcome(JsonDecoder(schema, options), array) == outcome(FallbackDecoder(schema, options), array)


@given(st.data(), st.sampled_from((pa.float64(), pa.float32(), pa.int64(), pa.int8())))
def test_loop_and_fallback_agree_on_numbers(data: st.DataObject, arrow_type: pa.DataType) -> None:
    digits = st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
    floats = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    integers = st.integers(-(2**64), 2**64).map(str)
    texts = data.draw(st.lists(digits | floats | integers | integers.map(lambda n: f'"{n}"'), min_size=1, max_size=4))
    schema, options = pa.schema([("a", arrow_type)]), Options(JSON_OPTIONS, {"json.ignore-parse-errors": "true"})
    array = pa.array([f'{{"a":{text}}}'.encode() for text in texts])
    assert outcome(JsonDecoder(schema, options), array) == outcome(FallbackDecoder(schema, options), array)


@given(st.lists(st.text(), max_size=6), st.booleans(), st.integers(0, 9))
def test_loop_and_fallback_agree_on_strings(texts: list[str], ascii_only: bool, indent: int) -> None:
    payloads = [" " * indent + json.dumps({"z": text, "s": text, "a": 1}, ensure_ascii=ascii_only) for text in texts]
    array = pa.array([p.encode("utf-8", "surrogatepass") for p in payloads], pa.binary())
    assert outcome(JsonDecoder(PAIR, IGNORE_ERRORS), array) == outcome(FallbackDecoder(PAIR, IGNORE_ERRORS), array)


@pytest.mark.parametrize("size", [1, 100, 5_000])
def test_buffers_grow(size: int) -> None:
    schema = pa.schema([("s", pa.string()), ("l", pa.list_(pa.struct([("f", pa.float64()), ("t", pa.string())])))])
    rows = [
        {"s": "x" * (size * (i % 3)), "l": [{"f": j / 7, "t": str(j)} for j in range(size * (i == 7))]}
        for i in range(20)
    ]
    array = pa.array([json.dumps(row).encode() for row in rows])
    decoder = CountingDecoder(schema, IGNORE_ERRORS)
    for _ in range(2):  # the decoder reuses the first call's capacity in the second
        assert pa.RecordBatch.from_arrays(decoder.decode(array).columns, schema=schema).to_pylist() == rows
    assert decoder.fallback_count == 0


def test_truncated_payloads_produce_no_rows() -> None:
    complete = json.dumps({"a": 1, "s": 'é\n"', "z": [{"y": [1.5, None, True]}]}).encode()
    truncated = [complete[:i] for i in range(len(complete) + 1)]
    assert JsonDecoder(PAIR, IGNORE_ERRORS).decode(pa.array(truncated)).payload_indices == pa.array([len(complete)])
