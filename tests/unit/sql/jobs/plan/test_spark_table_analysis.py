"""Test the table properties that declare a history."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.errors import StatementError
from kafka_sql.spark.table_writes import WrittenTable
from kafka_sql.sql.jobs.plan.spark_table_analysis import read_history
from kafka_sql.sql.jobs.targets.spark_table import History

COLUMNS = {"id": "int", "name": "string", "__START_AT": "timestamp", "__END_AT": "timestamp", "current": "boolean"}


def read(key: tuple[str, ...] = ("id",), provider: str = "delta", **properties: str) -> History | None:
    declared = {key.replace("_", "-"): value for key, value in properties.items()}
    table = WrittenTable("AppendData", ("lake", "t"), provider, types=COLUMNS, properties=declared)
    return read_history("t", table, key)


def test_a_table_declares_the_columns_of_its_history() -> None:
    assert read() is read(scd_type="1") is read(scd_type="2", provider="parquet") is None
    assert read(scd_type="2") == History("__START_AT", "__END_AT")
    assert read(scd_type="2", scd_columns="__start_at,__end_at , CURRENT") == History(
        "__START_AT", "__END_AT", "current"
    )


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"scd_type": "3"}, "'scd-type' = '3' is not supported"),
        ({"scd_type": "2", "key": ()}, "requires a primary key. Set the table property 'primary-key'"),
        (
            {"scd_type": "2", "scd_columns": "valid_from, valid_to"},
            "names column 'valid_from', which the table does not",
        ),
        ({"scd_type": "2", "scd_columns": "__START_AT"}, "two or three columns that are not part of the primary key"),
        ({"scd_type": "2", "scd_columns": "id, __END_AT"}, "two or three columns that are not part of the primary key"),
        ({"scd_type": "2", "scd_columns": "__START_AT, name"}, "'__START_AT' is timestamp, 'name' is string"),
        ({"scd_type": "2", "scd_columns": "__START_AT, __END_AT, name"}, "requires a BOOLEAN: 'name' is string"),
    ],
)
def test_invalid_properties(properties: dict[str, Any], message: str) -> None:
    with pytest.raises(StatementError) as e:
        read(**properties)
    assert str(e.value).count(message) == 1
