"""No change event is decoded in more than linear time and memory, with all columns and all metadata."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.cdc.decoder import ChangeDecoder
from kafka_sql.formats.cdc.dialect import Dialect
from kafka_sql.formats.cdc.json_dialects import CANAL, DEBEZIUM, MAXWELL, OGG
from kafka_sql.formats.format import Decoder
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from tests.unit.formats.growth import assert_all_linear, assert_linear_decoding
from tests.unit.formats.hostile_documents import VALUES, Bytes

LARGEST: Final = 1 << 14  # bytes
SOME_VALUES: Final = (
    "numbers",
    "exact doubles",
    "rows with repeated names",
    "nested objects",
    "entries",
    "escapes",
    "commas",
    "digits as a number",
)
SCHEMA: Final = pa.schema(
    [
        ("i", pa.int64()),
        ("n", pa.decimal128(38, 18)),
        ("s", pa.string()),
        ("a", pa.list_(pa.struct([("p", pa.float64())]))),
    ]
)
ROW: Final = b'{"i":1,"s":"x"}'
DIALECTS: Final = {"debezium-json": DEBEZIUM, "canal-json": CANAL, "maxwell-json": MAXWELL, "ogg-json": OGG}
# values that the document's types allow, and the metadata's types do not
BAD_METADATA: Final = {
    "debezium-json": b'"source":{"ts_ms":"x"}',
    "canal-json": b'"ts":9223372036854775807,"es":9223372036854775807',
    "maxwell-json": b'"ts":9223372036854775807',
    "ogg-json": b'"current_ts":"x","op_ts":"x"',
}
CASES: Final = [
    ("debezium-json", {}),
    ("canal-json", {"database.include": "d.*", "table.include": "t.*"}),
    ("maxwell-json", {"ignore-parse-errors": "true"}),
    pytest.param("ogg-json", {}, marks=pytest.mark.long),
    pytest.param("maxwell-json", {}, marks=pytest.mark.long),
    pytest.param("canal-json", {"ignore-parse-errors": "true"}, marks=pytest.mark.long),
    pytest.param("debezium-json", {"schema-include": "true"}, marks=pytest.mark.long),
]


def create_decoder(name: str, options: dict[str, str]) -> Decoder:
    """Return a decoder that provides all metadata."""
    format_ = FORMATS[name]
    values = Options(format_.options, {f"{name}.{key}": value for key, value in options.items()})
    return format_.decoder(SCHEMA, values, tuple(format_.metadata))


def update(dialect: Dialect, old: bytes, new: bytes, more: bytes = b"") -> bytes:
    """Return an update of a row, or of several if the dialect has arrays."""
    pair = b'"%s":[%s],"%s":[%s]' if dialect.rows_in_arrays else b'"%s":%s,"%s":%s'
    rows = pair % (dialect.old_field.encode(), old, dialect.new_field.encode(), new)
    operation = b'"%s":"%s"' % (dialect.operation_field.encode(), dialect.updates[0].encode())
    return b"{" + rows + b"," + operation + (b"," + more if more else b"") + b"}"


def events(name: str) -> dict[str, Bytes]:
    """Return events that are expensive to decode."""
    dialect = DIALECTS[name]
    valid, bad = update(dialect, ROW, ROW), BAD_METADATA[name]
    lacks_old = valid.replace(b'"%s"' % dialect.old_field.encode(), b'"none"')

    def many(part: bytes, size: int) -> bytes:
        return b",".join([part] * (size // len(part) + 1))

    return {
        "array of events": lambda size: b"[" + many(valid, size) + b"]",
        "updates without an old row": lambda size: b"[" + many(lacks_old, size) + b"]",
        "unknown operations": lambda size: (
            b"[" + many(valid[:-1] + b',"%s":"?"}' % dialect.operation_field.encode(), size) + b"]"
        ),
        "a long operation": lambda size: valid[:-1] + b',"%s":"%s"}' % (dialect.operation_field.encode(), b"x" * size),
        "bad metadata": lambda size: b"[" + many(update(dialect, ROW, ROW, bad), size) + b"]",
        "bad metadata of rows": lambda size: update(dialect, many(ROW, size // 2), many(ROW, size // 2), bad),
        "long bad metadata": lambda size: update(dialect, ROW, ROW, bad.replace(b"x", b"x" * size)),
        "new rows": lambda size: update(dialect, ROW, many(ROW, size)),
        "old rows": lambda size: update(dialect, many(ROW, size), ROW),
        "null rows": lambda size: update(dialect, ROW, many(b"null", size)),
        "names in the old row": lambda size: update(dialect, b"{%s}" % many(b'"k":1', size), ROW),
        "nested old row": lambda size: update(dialect, b'{"x":[%s]}' % many(b"{}", size), ROW),
        "braces in the old row": lambda size: update(dialect, b'{"s":"%s"}' % (b"{" * size), ROW),
        "names in a string": lambda size: update(dialect, rb'{"s":"%s"}' % (rb"\"i\":" * (size // 6)), ROW),
        "open old rows": lambda size: valid[:-1] + b',"%s":[{' % dialect.old_field.encode() * (size // 9),
        "properties": lambda size: update(dialect, ROW, ROW, b'"source":{%s}' % many(b'"k":"v"', size)),
        **{f"{what} in both rows": in_both_rows(dialect, VALUES[what]) for what in SOME_VALUES},
    }


def in_both_rows(dialect: Dialect, value: Bytes) -> Bytes:
    def event(size: int) -> bytes:
        row = b'{"n":%s,"s":"x","a":%s}' % (value(size // 4), value(size // 4))
        return update(dialect, row, row)

    return event


def in_envelope(event: Bytes) -> Bytes:
    return lambda size: b'{"schema":%s,"payload":%s}' % (event(size // 2), event(size // 2))


@pytest.mark.long
@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_events(name: str, options: dict[str, str]) -> None:
    decoder, shapes = create_decoder(name, options), events(name)
    if "schema-include" in options:
        shapes = {what: in_envelope(event) for what, event in shapes.items()}
    assert_all_linear(shapes, lambda make: assert_linear_decoding(decoder, make, LARGEST))


def test_metadata_is_converted_once_more_if_values_are_bad() -> None:
    """Not once per bad value, because each conversion takes a time that is proportional to the number of records."""
    metadata, conversions = DEBEZIUM.metadata["source.timestamp"], []

    def convert(values: pa.Array) -> pa.Array:
        conversions.append(len(values))
        return metadata.convert(values)

    dialect = replace(DEBEZIUM, metadata={"source.timestamp": replace(metadata, convert=convert)})
    decoder = ChangeDecoder(
        dialect,
        lambda schema: JsonDecoder(schema, Options(JSON_OPTIONS, {})),
        SCHEMA,
        ["source.timestamp"],
        has_envelope=False,
        ignore_errors=False,
    )
    good, bad = (
        update(DEBEZIUM, ROW, ROW, b'"source":{"ts_ms":"5"}'),
        update(DEBEZIUM, ROW, ROW, BAD_METADATA["debezium-json"]),
    )
    errors: list[DecodeError] = []
    decoded = decoder.decode(pa.array([good, bad, bad, good] * 50), errors)
    assert sorted(error.row for error in errors) == [row for row in range(200) if row % 4 in (1, 2)]
    assert decoded.metadata[0].cast(pa.int64()).to_pylist() == [5] * 200
    assert conversions == [400, 400]


@pytest.mark.parametrize("name", DIALECTS)
def test_an_array_of_events_is_undecodable(name: str) -> None:
    """As in Flink. Neighbors are decoded, and errors can be ignored."""
    event = update(DIALECTS[name], ROW, ROW)
    payloads = pa.array([event, b"[" + event + b"]", b"[]", b"[%s,%s]" % (event, event), event], pa.binary())
    errors: list[DecodeError] = []
    decoded = create_decoder(name, {}).decode(payloads, errors)
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 0, 4, 4]
    assert [error.row for error in errors] == [1, 2, 3]
    ignoring = create_decoder(name, {"ignore-parse-errors": "true"})
    assert ignoring.decode(payloads).payload_indices.to_pylist() == [0, 0, 4, 4]


@pytest.mark.parametrize("name", DIALECTS)
def test_errors_are_short(name: str) -> None:
    """They show the start of a long operation, and of a long value of metadata."""
    dialect = DIALECTS[name]
    events = [update(dialect, ROW, ROW, BAD_METADATA[name].replace(b"x", b"x" * 10_000))]
    events.append(events[0][:-1] + b',"%s":"%s"}' % (dialect.operation_field.encode(), b"x" * 10_000))
    errors: list[DecodeError] = []
    create_decoder(name, {}).decode(pa.array(events), errors)
    assert errors
    assert all(len(str(error)) < 300 for error in errors)
