"""The MERGE of a history, and the table properties that declare one."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.errors import StatementError
from kafka_sql.spark.table_writes import WrittenTable
from kafka_sql.sql.jobs.targets.history import merge_statement
from kafka_sql.sql.jobs.targets.spark_table import History, Sink, SparkTable, read_history

COLUMNS = {"id": "int", "name": "string", "__START_AT": "timestamp", "__END_AT": "timestamp", "current": "boolean"}


def test_rows_are_merged_by_key_and_start() -> None:
    history = History("from", "to", "current")
    table = SparkTable(("lake", "t"), "iceberg", Sink.STREAM, primary_key=["id"], history=history)
    assert merge_statement(table, history, ["name"]) == (
        "MERGE INTO `lake`.`t` AS t USING __kafka_sql_history AS s\n"
        "ON t.`id` <=> s.`id` AND t.`from` = s.__kafka_sql_time\n"
        "WHEN MATCHED AND NOT s.__kafka_sql_present THEN DELETE\n"
        "WHEN MATCHED THEN UPDATE SET t.`name` = s.__kafka_sql_row.`name`, t.`to` = s.__kafka_sql_end, "
        "t.`current` = s.__kafka_sql_end IS NULL\n"
        "WHEN NOT MATCHED AND s.__kafka_sql_present\n"
        "THEN INSERT (`id`, `from`, `name`, `to`, `current`) VALUES (s.`id`, s.__kafka_sql_time, "
        "s.__kafka_sql_row.`name`, s.__kafka_sql_end, s.__kafka_sql_end IS NULL)"
    )


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
