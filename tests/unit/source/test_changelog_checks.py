"""Which reads of changelog tables are rejected."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from kafka_sql.catalog.data_source import make_data_source
from kafka_sql.definition import validate_table
from kafka_sql.errors import SchemaError, UnsupportedSqlError
from kafka_sql.source.changelog_checks import check_key_types
from kafka_sql.table.declaration import Column, Table
from tests.unit.source.upsert_table import COLUMNS, OPTIONS

CHANGELOG = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "scan.startup.mode": "earliest-offset",
    "format": "debezium-json",
}


def test_nested_key_columns_are_rejected() -> None:
    nested = pa.schema([("v", pa.int64()), ("k", pa.list_(pa.int64()))])
    with pytest.raises(SchemaError, match=r"PRIMARY KEY column 'k' cannot be of type list"):
        check_key_types(nested, ("k",))
    check_key_types(pa.schema([("v", pa.int64()), ("k", pa.string())]), ("k", "v"))


def test_streaming_reads_of_upsert_tables_are_rejected() -> None:
    definition = validate_table(Table(("db", "t"), COLUMNS, OPTIONS, primary_key=("k",)))
    schema = StructType().add("v", LongType()).add("k", StringType(), nullable=False).add("o", LongType())
    source = make_data_source("kafka.t", definition, schema)({})
    assert source.reader(schema)
    with pytest.raises(UnsupportedSqlError, match=r"Table 'db.t': streaming reads of 'upsert-kafka' tables are not"):
        source.streamReader(schema)


def test_changelogs_need_a_primary_key_or_a_row_kind_column() -> None:
    schema = StructType().add("v", LongType()).add("k", StringType()).add("o", LongType())
    without_key = make_data_source("kafka.t", validate_table(Table(("db", "t"), COLUMNS, CHANGELOG)), schema)({})
    with pytest.raises(UnsupportedSqlError, match=r"Table 'db.t': batch reads of the format 'debezium-json' need a"):
        without_key.reader(schema)
    for key in ((), ("k",)):
        without_row_kind = make_data_source(
            "kafka.t", validate_table(Table(("db", "t"), COLUMNS, CHANGELOG, primary_key=key)), schema
        )({})
        with pytest.raises(UnsupportedSqlError, match=r"streaming reads of the format 'debezium-json' need a"):
            without_row_kind.streamReader(schema)
        columns = (*COLUMNS, Column("kind", "STRING", "STRING", metadata="row-kind", virtual=True))
        with_row_kind = StructType([*schema.fields, StructField("kind", StringType())])
        changes = make_data_source(
            "kafka.t", validate_table(Table(("db", "t"), columns, CHANGELOG, primary_key=key)), with_row_kind
        )({})
        assert changes.reader(with_row_kind)
        assert changes.streamReader(with_row_kind)
