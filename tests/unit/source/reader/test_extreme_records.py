"""Test records with the extremes of every field: each is a row with exact values, or an undecodable record."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Message

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import DecodeError
from kafka_sql.kafka.direct.reads.fetched_batches import FetchedBatches
from kafka_sql.kafka.direct.reads.fetched_batches import to_records as from_addresses
from kafka_sql.kafka.librdkafka.consumer import to_records as from_messages
from kafka_sql.kafka.record_metadata import HEADER_LIST
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader import row_decoder
from kafka_sql.source.reader.bad_records import BadRecordHandler
from kafka_sql.source.reader.changelog_content import Identity, reduce_changes, upsert_changes
from kafka_sql.source.reader.row_decoder import RowDecoder
from kafka_sql.table.table import Column, Table
from tests.unit.kafka.direct.record_batches import RecordBatch
from tests.unit.source.changelog_tables import UPSERT_OPTIONS

SMALLEST, LARGEST = -(2**63), 2**63 - 1
MAX_MILLIS = LARGEST // 1000  # of Spark's timestamps, which have microseconds
NANOSECONDS = 1_700_000_000_000_000_000
TIMESTAMPS = (
    *(SMALLEST, LARGEST, -1, -2, 0, 1, NANOSECONDS, 253_402_300_800_000),
    *(
        MAX_MILLIS + 1,
        MAX_MILLIS,
        MAX_MILLIS - 1,
        -MAX_MILLIS,
        -MAX_MILLIS - 1,
        971_890_963_199_999,
        971_890_963_200_000,
    ),
)
HEADERS: list[list[tuple[bytes, bytes | None]]] = [
    [],
    [(b"", b"")],
    [(b"", None), (b"", None)],
    [(b"\xff", b"\xff"), (b"\xfe", None)],
    [(b"\0", b"\0" * 1_000), (b"x" * 1_000, b"")],
]
PAYLOADS = (None, b"", b"\0", b"\xff", b"x" * 1_000, b"{}", b"null")
ALL_FIELDS = RecordFields(keys=True, timestamps=True, headers=True, leader_epochs=True)
OPTIONS = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "error-handling.mode": "ignore"}
LTZ, NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")
HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])
STRINGS = pa.struct([("key", pa.binary()), ("value", pa.string())])
COLUMNS: dict[tuple[str, str], pa.DataType] = {
    ("topic", "STRING"): pa.string(),
    ("topic", "BYTES"): pa.binary(),
    ("partition", "INT"): pa.int32(),
    ("partition", "STRING"): pa.string(),
    ("offset", "BIGINT"): pa.int64(),
    ("offset", "DOUBLE"): pa.float64(),
    ("offset", "STRING"): pa.string(),
    ("offset", "DECIMAL(20, 0)"): pa.decimal128(20),
    ("leader-epoch", "INT"): pa.int32(),
    ("leader-epoch", "FLOAT"): pa.float32(),
    ("leader-epoch", "DECIMAL(10, 0)"): pa.decimal128(10),
    ("timestamp", "TIMESTAMP_LTZ(3)"): LTZ,
    ("timestamp", "TIMESTAMP_LTZ(0)"): LTZ,
    ("timestamp", "TIMESTAMP(3)"): NTZ,
    ("timestamp", "TIMESTAMP(6)"): NTZ,
    ("timestamp", "DATE"): pa.date32(),
    ("timestamp", "STRING"): pa.string(),
    ("timestamp-type", "STRING"): pa.string(),
    ("headers", "MAP<STRING, BYTES>"): pa.map_(pa.string(), pa.binary()),
    ("headers", "MAP<BYTES, STRING>"): pa.map_(pa.binary(), pa.string()),
    ("header-list", "ARRAY<ROW<key STRING NOT NULL, value BYTES>>"): pa.list_(HEADER),
    ("header-list", "ARRAY<ROW<key BYTES, value STRING>>"): pa.list_(STRINGS),
    ("raw-key", "BYTES"): pa.binary(),
    ("raw-value", "BYTES"): pa.binary(),
    ("error", "STRING"): pa.string(),
}
SPLIT = Split("t", 0, 0, LARGEST)


@pytest.fixture(autouse=True)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    zone = getattr(request, "param", "+09:00")
    monkeypatch.setattr(row_decoder, "session_time_zone", lambda: zone)
    return str(zone)


def table(*keys: tuple[str, str], **options: str) -> tuple[Definition, pa.Schema]:
    """Return a table with a value ``v`` and metadata columns, and its schema."""
    metadata = {f"m{i}": key for i, key in enumerate(keys)}
    columns = [Column(name, "", declared, metadata=key, virtual=True) for name, (key, declared) in metadata.items()]
    schema = pa.schema([("v", pa.binary()), *((name, COLUMNS[key]) for name, key in metadata.items())])
    table_options = {**OPTIONS, "format": "raw", **{k.replace("_", "."): v for k, v in options.items()}}
    return validate_table(Table(("t",), (Column("v", "", "BYTES"), *columns), table_options)), schema


def tolerant(definition: Definition, schema: pa.Schema) -> RowDecoder:
    return RowDecoder(definition, schema, SPLIT, BadRecordHandler(definition, SPLIT))


def one_record(timestamp: int = 0, offset: int = 7, **fields: Any) -> Records:
    return Records(
        pa.array([b"v"], pa.binary()),
        np.array([offset]),
        pa.array([b"k"], pa.binary()),
        np.array([timestamp]),
        np.array([1], np.int32),
        pa.array([[]], HEADER_LIST),
        np.array([0], np.int32),
        **fields,
    )


def column(batch: pa.RecordBatch) -> list[Any]:
    """Return the metadata column, with numbers for times, which Python's types may not represent."""
    array = batch["m0"]
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    return list((array.cast(pa.int32()) if pa.types.is_date32(array.type) else array).to_pylist())


def expected_value(timestamp: int, declared: str, zone: str) -> int | None:
    """Return the value of a timestamp that the column's type can hold.

    Raises:
        OverflowError: it cannot.
    """
    if timestamp == -1:
        return None
    shift = 0 if "LTZ" in declared else int(zone[:3]) * 3_600_000
    local = timestamp + shift
    limit = 971_890_963_199_000 if declared == "STRING" else MAX_MILLIS
    if max(abs(timestamp), abs(local)) > limit:
        raise OverflowError
    if declared == "DATE":
        return local // 86_400_000
    return (abs(local) // 1000 * 1000 * (-1 if local < 0 else 1) if "(0)" in declared else local) * 1000


@pytest.mark.parametrize("zone", ["+09:00", "-08:00"], indirect=True)
@pytest.mark.parametrize("timestamp", TIMESTAMPS)
@pytest.mark.parametrize("key", [key for key in COLUMNS if key[0] == "timestamp"], ids=lambda key: key[1])
def test_a_timestamp_is_read_exactly_or_is_an_undecodable_record(
    key: tuple[str, str], timestamp: int, zone: str
) -> None:
    definition, schema = table(key)
    strict, record = RowDecoder(definition, schema, SPLIT), one_record(timestamp)
    try:
        expected = expected_value(timestamp, key[1], zone)
    except OverflowError:
        with pytest.raises(DecodeError, match=rf"t\[0\]@7, field 'm0': metadata 'timestamp' is {timestamp} ms since"):
            strict.decode(record)
        assert tolerant(definition, schema).decode(record).batch.num_rows == 0
        return
    (value,) = column(strict.decode(record).batch)
    if key[1] == "STRING" and value is not None:
        assert expected is not None
        assert value.endswith(f".{expected // 1000 % 1000:03d}")
    else:
        assert value == expected


def test_the_extremes_of_all_fields_end_no_query() -> None:
    records = extreme_records()
    definition, schema = table(*COLUMNS)
    assert definition.has_error_column
    batch = tolerant(definition, schema).decode(records).batch
    batch.validate(full=True)
    assert batch.num_rows == len(records.offsets)
    errors = {
        row[0]: row[1] for row in zip(batch[OFFSET].to_pylist(), batch[schema.names[-1]].to_pylist(), strict=True)
    }
    undecodable = [o for o, t in enumerate(records.timestamps.tolist()) if abs(t) > 971_890_963_199_000]  # type: ignore[union-attr]
    assert sorted(offset for offset, error in errors.items() if error) == undecodable
    assert all(error.startswith(f"[DECODE] t[0]@{offset}, field 'm") for offset, error in errors.items() if error)


OFFSET = f"m{list(COLUMNS).index(('offset', 'BIGINT'))}"


def extreme_records() -> Records:
    """Return one record for each extreme of each field; ``m4`` of its row is its index."""
    count = max(len(TIMESTAMPS), len(HEADERS), len(PAYLOADS))
    repeat = np.arange(count)
    headers = [
        [{"key": k.decode("utf-8", "replace"), "value": v} for k, v in HEADERS[i % len(HEADERS)]] for i in repeat
    ]
    return Records(
        pa.array([PAYLOADS[i % len(PAYLOADS)] for i in repeat], pa.binary()),
        repeat,
        pa.array([PAYLOADS[(i + 1) % len(PAYLOADS)] for i in repeat], pa.binary()),
        np.array(TIMESTAMPS),
        (repeat % 3).astype(np.int32),
        pa.array(headers, HEADER_LIST),
        np.array([(-1, 0, 2**31 - 1, -(2**31))[i % 4] for i in repeat], np.int32),
    )


@pytest.mark.parametrize("offset", [0, LARGEST - 1, LARGEST])
def test_offsets(offset: int) -> None:
    keys = [key for key in COLUMNS if key[0] == "offset"]
    definition, schema = table(*keys)
    (row,) = RowDecoder(definition, schema, SPLIT).decode(one_record(offset=offset)).batch.to_pylist()
    assert list(row.values()) == [b"v", offset, float(offset), str(offset), offset]


def test_both_clients_read_the_same_extremes() -> None:
    columns = [key for key in COLUMNS if key[0] not in ("leader-epoch", "topic")]
    headers = [h for h in HEADERS if all(name != b"\xff" for name, _ in h)]
    rows = [
        (i, timestamp, PAYLOADS[i % len(PAYLOADS)], PAYLOADS[(i + 1) % len(PAYLOADS)], headers[i % len(headers)])
        for i, timestamp in enumerate(TIMESTAMPS)
    ]
    deltas = [(t - 1_000 + 2**63) % 2**64 - 2**63 for t in TIMESTAMPS]  # of the batch's first timestamp
    encoded = RecordBatch(
        0,
        [(i, delta, key, value) for (i, _, key, value, _), delta in zip(rows, deltas, strict=True)],
        len(rows) - 1,
        headers=[row[-1] for row in rows],
    ).encode()
    ((addresses, _),) = FetchedBatches(memoryview(encoded)).locate(0, len(rows), [], 1 << 20, ALL_FIELDS)
    messages = [
        Message("t", 0, i, key, value, [(name.decode(), v) for name, v in record_headers], timestamp=(1, timestamp))
        for i, timestamp, key, value, record_headers in rows
    ]
    definition, schema = table(*columns)
    direct, librdkafka = (
        tolerant(definition, schema).decode(records).batch
        for records in (from_addresses(addresses, ALL_FIELDS), from_messages(messages, ALL_FIELDS))
    )
    assert direct.num_rows == len(TIMESTAMPS)
    assert direct.equals(librdkafka)


def test_a_header_name_that_librdkafka_cannot_decode_is_an_undecodable_record() -> None:
    class BadMessage(Message):
        def headers(self) -> Any:
            raise SystemError

    messages = [Message("t", 0, 6, b"k", b"a"), BadMessage("t", 0, 7, b"k", b"b"), Message("t", 0, 8, b"k", b"c")]
    records = from_messages(messages, ALL_FIELDS)
    definition, schema = table(("headers", "MAP<STRING, BYTES>"))
    assert tolerant(definition, schema).decode(records).batch["v"].to_pylist() == [b"a", b"c"]
    with pytest.raises(
        DecodeError, match=r"t\[0\]@7: the name of a header is not valid UTF-8.*'scan.client' = 'direct'"
    ):
        RowDecoder(definition, schema, SPLIT).decode(records)
    assert records.take(np.array([2, 1])).unreadable == {1: (records.unreadable or {})[1]}


@pytest.mark.parametrize(("key", "record"), [(("timestamp", "TIMESTAMP_LTZ(3)"), one_record(timestamp=-1))])
def test_a_null_in_a_column_that_is_declared_not_null_is_an_undecodable_record(
    key: tuple[str, str], record: Records
) -> None:
    definition, schema = table(key)
    not_null = pa.schema([schema.field("v"), schema.field("m0").with_nullable(False)])
    assert RowDecoder(definition, schema, SPLIT).decode(record).batch["m0"].to_pylist() == [None]
    with pytest.raises(DecodeError, match=r"field 'm0': metadata 'timestamp' is null, but declared NOT NULL"):
        RowDecoder(definition, not_null, SPLIT).decode(record)


def test_a_header_without_a_value_in_a_column_that_requires_one_is_an_undecodable_record() -> None:
    definition, schema = table(("header-list", "ARRAY<ROW<key STRING NOT NULL, value BYTES>>"))
    not_null = pa.list_(pa.struct([HEADER.field(0), HEADER.field(1).with_nullable(False)]))
    schema = pa.schema([schema.field("v"), ("m0", not_null)])
    headers = [[{"key": "a", "value": value} for value in values] for values in ([b"1"], [], [b"2", None], [b"3"])]
    records = Records(pa.array([b"v"] * 4, pa.binary()), np.arange(4), headers=pa.array(headers, HEADER_LIST))
    assert tolerant(definition, schema).decode(records).batch["m0"].to_pylist() == [headers[i] for i in (0, 1, 3)]
    with pytest.raises(DecodeError, match=r"t\[0\]@2, field 'm0': metadata 'header-list' has a header without a value"):
        RowDecoder(definition, schema, SPLIT).decode(records)
    assert RowDecoder(definition, schema, SPLIT).decode(records.take(np.array([3, 1]))).batch.num_rows == 2


def test_a_record_without_rows_may_have_any_timestamp() -> None:
    definition, schema = table(("timestamp", "TIMESTAMP_LTZ(3)"), format="json")
    records = replace(one_record(LARGEST), values=pa.array([None], pa.binary()))
    assert RowDecoder(definition, schema, SPLIT).decode(records).batch.num_rows == 0


def test_upserts_and_tombstones_with_extreme_timestamps() -> None:
    columns = (
        Column("id", "STRING", "STRING", nullable=False),
        Column("n", "BIGINT", "BIGINT"),
        Column("ts", "", "TIMESTAMP_LTZ(3)", metadata="timestamp", virtual=True),
    )
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), ("n", pa.int64()), ("ts", LTZ)])
    options = {**UPSERT_OPTIONS, "error-handling.mode": "ignore"}
    decoder = tolerant(validate_table(Table(("t",), columns, options, primary_key=("id",))), schema)
    keys, values = [b'{"id": "a"}', b'{"id": "b"}'] * 2, [b'{"n": 1}', b'{"n": 2}', None, None]
    records = Records(
        pa.array(values, pa.binary()),
        np.arange(4),
        pa.array(keys, pa.binary()),
        np.array([0, 0, LARGEST, MAX_MILLIS]),
    )
    (batch,) = reduce_changes([upsert_changes(decoder, records)], Identity(("id",), is_key=True), schema)
    assert batch["id"].to_pylist() == ["a"]  # its tombstone is undecodable


@pytest.mark.parametrize(
    ("format", "event", "largest"),
    [
        ("debezium-json", {"before": None, "after": {"v": ""}, "op": "c", "ts_ms": None}, MAX_MILLIS),
        ("canal-json", {"data": [{"v": ""}], "type": "INSERT", "ts": None}, MAX_MILLIS),
        ("maxwell-json", {"data": {"v": ""}, "type": "insert", "ts": None}, MAX_MILLIS // 1000),
    ],
)
def test_timestamps_of_changes(format: str, event: dict[str, Any], largest: int) -> None:
    time_field = next(name for name in ("ts_ms", "ts") if name in event)
    columns = (
        Column("v", "", "BYTES"),
        Column("m0", "", "TIMESTAMP_LTZ(3)", metadata="value.ingestion-timestamp", virtual=True),
    )
    schema = pa.schema([("v", pa.binary()), ("m0", LTZ)])
    decoder = tolerant(validate_table(Table(("t",), columns, {**OPTIONS, "format": format})), schema)
    times = [0, largest, largest + 1, -largest, -largest - 1, LARGEST, SMALLEST, None, -1]
    payloads = [json.dumps({**event, time_field: time}).encode() for time in times]
    batch = decoder.decode(Records(pa.array(payloads, pa.binary()), np.arange(len(times)))).batch
    factor = 1_000_000 if format == "maxwell-json" else 1_000
    assert column(batch) == [0, largest * factor, -largest * factor, None, -factor]
