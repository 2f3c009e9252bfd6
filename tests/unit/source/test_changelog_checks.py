"""Which reads of changelog tables are rejected."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from kafka_sql.catalog.data_source import make_data_source
from kafka_sql.definition import validate_table
from kafka_sql.errors import SchemaError, UnsupportedSqlError
from kafka_sql.source.changelog_checks import check_key_types
from kafka_sql.table.table import Column, Table
from tests.unit.source.changelog_tables import COLUMNS, DEBEZIUM_OPTIONS, UPSERT_OPTIONS


def test_nested_key_columns_are_rejected() -> None:
    nested = pa.schema([("v", pa.int64()), ("k", pa.list_(pa.int64()))])
    with pytest.raises(SchemaError, match=r"PRIMARY KEY column 'k' cannot be of type list"):
        check_key_types(nested, ("k",))
    check_key_types(pa.schema([("v", pa.int64()), ("k", pa.string())]), ("k", "v"))


@pytest.mark.parametrize(
    ("options", "key"), [(UPSERT_OPTIONS, ("k",)), (DEBEZIUM_OPTIONS, ()), (DEBEZIUM_OPTIONS, ("k",))]
)
def test_streams_of_changes_need_a_row_kind_column(options: dict[str, str], key: tuple[str, ...]) -> None:
    schema = StructType().add("v", LongType()).add("k", StringType()).add("o", LongType())
    without_row_kind = make_data_source(
        "kafka.t", validate_table(Table(("db", "t"), COLUMNS, options, primary_key=key)), schema
    )({})
    assert without_row_kind.reader(schema)
    with pytest.raises(UnsupportedSqlError, match=r"Table 'db.t': a stream of changes needs a row kind column"):
        without_row_kind.streamReader(schema)
    columns = (*COLUMNS, Column("kind", "STRING", "STRING", metadata="row-kind", virtual=True))
    with_row_kind = StructType([*schema.fields, StructField("kind", StringType())])
    changes = make_data_source(
        "kafka.t", validate_table(Table(("db", "t"), columns, options, primary_key=key)), with_row_kind
    )({})
    assert changes.reader(with_row_kind)
    assert changes.streamReader(with_row_kind)
