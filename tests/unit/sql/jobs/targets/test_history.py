"""Test the MERGE of a history."""

from __future__ import annotations

from kafka_sql.sql.jobs.targets.history import merge_statement
from kafka_sql.sql.jobs.targets.spark_table import History, Sink, SparkTable


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
