"""The MERGE of a micro-batch's changes."""

from __future__ import annotations

from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable
from kafka_sql.sql.jobs.targets.spark_writes import merge_statement


def test_changes_are_merged_by_the_primary_key() -> None:
    table = SparkTable(("spark_catalog", "db", "t"), "delta", Sink.STREAM, primary_key=["id", "day"])
    assert merge_statement(table, ["id", "name", "day", "__row_kind"]) == (
        "MERGE INTO `spark_catalog`.`db`.`t` AS t USING __kafka_sql_changes AS s\n"
        "ON t.`id` <=> s.`id` AND t.`day` <=> s.`day`\n"
        "WHEN MATCHED AND s.__row_kind IN ('-U', '-D') THEN DELETE\n"
        "WHEN MATCHED THEN UPDATE SET t.`name` = s.`name`\n"
        "WHEN NOT MATCHED AND s.__row_kind NOT IN ('-U', '-D')\n"
        "THEN INSERT (`id`, `name`, `day`) VALUES (s.`id`, s.`name`, s.`day`)"
    )


def test_rows_without_a_row_kind_are_never_deleted() -> None:
    table = SparkTable(("lake", "t"), "iceberg", Sink.STREAM, primary_key=["id"])
    assert merge_statement(table, ["id"]) == (
        "MERGE INTO `lake`.`t` AS t USING __kafka_sql_changes AS s\n"
        "ON t.`id` <=> s.`id`\n"
        "WHEN NOT MATCHED\n"
        "THEN INSERT (`id`) VALUES (s.`id`)"
    )
