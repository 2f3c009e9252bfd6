"""Test metadata columns of records, and which record fields they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import SchemaError
from kafka_sql.kafka.record_metadata import HEADER_LIST
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader.metadata import metadata_columns
from kafka_sql.source.reader.row_decoder import RowDecoder
from kafka_sql.table.table import Column, Table

LTZ = pa.timestamp("ms", "UTC")
VALUE = Column("v", "STRING", "STRING")
TYPES = {
    "topic": ("STRING", pa.string()),
    "partition": ("INT", pa.int32()),
    "offset": ("BIGINT", pa.int64()),
    "timestamp": ("TIMESTAMP_LTZ(3)", LTZ),
    "timestamp-type": ("STRING", pa.string()),
    "leader-epoch": ("INT", pa.int32()),
    "headers": ("MAP<STRING, BYTES>", pa.map_(pa.string(), pa.binary())),
    "raw-key": ("BYTES", pa.binary()),
    "raw-value": ("BYTES", pa.binary()),
    "row-kind": ("STRING", pa.string()),
    "error": ("STRING", pa.string()),
}
SPLIT = Split("orders", 3, 0, 100)
RECORDS = Records(
    pa.array([b"a", b"b"], pa.binary()),
    np.array([7, 9]),
    pa.array([b"k", None], pa.binary()),
    np.array([1000, -1]),
    np.array([1, 0], np.int32),
    pa.array([[{"key": "h", "value": b"1"}, {"key": "h", "value": b"2"}], []], HEADER_LIST),
    np.array([4, -1], np.int32),
)


def decoder(*keys: str) -> RowDecoder:
    columns = (VALUE, *(Column(key, "", TYPES[key][0], metadata=key, virtual=True) for key in keys))
    schema = pa.schema([("v", pa.string()), *((key, TYPES[key][1]) for key in keys)])
    return RowDecoder(define(*columns), schema, SPLIT)


def define(*columns: Column, **options: str) -> Definition:
    table_options = {
        "connector": "kafka",
        "topic": "orders",
        "properties.bootstrap.servers": "h:1",
        "value.format": "raw",
    }
    return validate_table(Table(("t",), columns, {**table_options, **options}))


def test_the_value_of_each_metadata_key() -> None:
    keys = ("topic", "partition", "offset", "timestamp", "timestamp-type", "leader-epoch", "headers", "raw-key")
    batch = decoder(*keys, "raw-value", "error").decode(RECORDS).batch
    rows = batch.set_column(4, "timestamp", batch["timestamp"].cast(pa.int64())).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("a", "orders", 3, 7, 1000, "CreateTime", 4, [("h", b"2")], b"k", b"a", None),
        ("b", "orders", 3, 9, None, "NoTimestampType", None, [], None, b"b", None),
    ]


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        ("offset", RecordFields()),
        ("raw-value", RecordFields()),
        ("raw-key", RecordFields(keys=True)),
        ("timestamp", RecordFields(timestamps=True)),
        ("timestamp-type", RecordFields(timestamps=True)),
        ("headers", RecordFields(headers=True)),
        ("leader-epoch", RecordFields(leader_epochs=True)),
    ],
)
def test_only_declared_fields_are_fetched(key: str, fields: RecordFields) -> None:
    assert decoder(key).record_fields == fields


def test_the_key_is_fetched_if_the_table_has_a_key_format() -> None:
    key = Column("k", "STRING", "STRING")
    options = {"key.format": "raw", "key.fields": "k", "value.fields-include": "EXCEPT_KEY"}
    table = define(key, VALUE, **options)
    schema = pa.schema([("k", pa.string()), ("v", pa.string())])
    reader = RowDecoder(table, schema, SPLIT)
    assert reader.record_fields == RecordFields(keys=True)
    assert reader.decode(RECORDS).batch.to_pylist() == [{"k": "k", "v": "a"}, {"k": None, "v": "b"}]
    assert reader.decode(replace(RECORDS, keys=pa.nulls(2, pa.binary()))).batch["k"].null_count == 2


UPSERT = {
    "connector": "upsert-kafka",
    "key.format": "raw",
    "value.format": "json",
}


@pytest.mark.parametrize("options", [UPSERT, {"format": "debezium-json"}], ids=["upsert-kafka", "changelog"])
def test_tables_of_changes_have_a_row_kind(options: dict[str, str]) -> None:
    kind = Column("kind", "STRING", "STRING", metadata="row-kind", virtual=True)
    columns = (replace(VALUE, nullable=False), kind)
    table_options = {"connector": "kafka", "topic": "orders", "properties.bootstrap.servers": "h:1", **options}
    table = validate_table(Table(("t",), columns, table_options, primary_key=("v",)))
    (column,) = metadata_columns(table, pa.schema([("v", pa.string()), ("kind", pa.string())]))
    assert (column.key, column.from_format) == ("row-kind", options is not UPSERT)


def test_tables_of_rows_have_no_row_kind() -> None:
    with pytest.raises(SchemaError, match=r"Invalid metadata key 'row-kind' in column 'kind' of table 't'"):
        RowDecoder(
            define(VALUE, Column("kind", "STRING", "STRING", metadata="row-kind", virtual=True)),
            pa.schema([("v", pa.string()), ("kind", pa.string())]),
            SPLIT,
        )


@pytest.mark.parametrize(
    ("declared", "target", "expected"),
    [("TIMESTAMP_LTZ(3)", LTZ, False), ("TIMESTAMP(3)", pa.timestamp("ms"), True)],
)
def test_only_timestamps_without_time_zone_need_the_sessions_time_zone(
    declared: str, target: pa.DataType, expected: bool
) -> None:
    column = Column("at", "", declared, metadata="timestamp", virtual=True)
    (resolved,) = metadata_columns(define(VALUE, column), pa.schema([("v", pa.string()), ("at", target)]))
    assert resolved.needs_time_zone is expected
