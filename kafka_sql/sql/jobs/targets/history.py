"""Write the history of a changelog's rows into a table of Delta Lake or Iceberg (a slowly changing dimension, type 2).

Each change ends the current row of its key, and begins another one unless it is a delete. The order of the changes is
that of the changelog. So the current rows are always the content of the changelog, even if times are not in order: a
change whose time is before that of the change before it gets the time of that change. Of several changes at the same
time, the last one remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.sql.jobs.targets.spark_table import History, SparkTable
from kafka_sql.table.changelog import DELETE, KINDS, ROW_KIND_NAME, UPDATE_BEFORE

_ROWS: Final = "__kafka_sql_history"  # the temporary view of the rows to write
# columns while the history is computed
_PRESENT, _ROW, _TIME, _END, _ORDER, _LAST, _STATE, _BEFORE = (
    f"__kafka_sql_{name}" for name in ("present", "row", "time", "end", "order", "last", "state", "before")
)


def merge_history(changes: DataFrame, table: SparkTable, history: History) -> None:
    """Apply all changes of a micro-batch to the history of their rows.

    A repeated micro-batch changes nothing: all its changes get the time of the last one, which remains.

    Args:
        changes: the table's columns, and a column with the row kind if there are deletes. The rows of a key are in one
            partition, in the order in which they apply.
    """
    spark = changes.sparkSession
    data = [name for name in changes.columns if name not in {*_columns(history), *table.primary_key, ROW_KIND_NAME}]
    timed = _read_changes(changes, table, history, data).localCheckpoint()  # it is read twice
    existing = _read_last_rows(timed, table, history, data)
    rows = _compute_rows(timed, existing, table.primary_key).localCheckpoint()  # MERGE requires rows that do not change
    rows.createOrReplaceTempView(_ROWS)
    spark.sql(merge_statement(table, history, data)).collect()


def _read_changes(changes: DataFrame, table: SparkTable, history: History, data: Sequence[str]) -> DataFrame:
    """Return the key, whether the row exists, the row, the time and the order of each change."""
    is_present = F.lit(True)
    if ROW_KIND_NAME in changes.columns:
        is_present = ~F.col(ROW_KIND_NAME).isin(KINDS[UPDATE_BEFORE], KINDS[DELETE])
    missing = F.raise_error(
        F.lit(f"INSERT INTO '{table.name}': '{history.start}' is NULL, but must be the time of the change")
    )
    return changes.select(
        *map(quote, table.primary_key),
        is_present.alias(_PRESENT),
        _struct(data).alias(_ROW),
        F.coalesce(F.col(quote(history.start)), missing).alias(_TIME),
        F.monotonically_increasing_id().alias(_ORDER),
    )


def _read_last_rows(timed: DataFrame, table: SparkTable, history: History, data: Sequence[str]) -> DataFrame:
    """Return the current row of each changed key in the table; of a deleted key, the time of the delete."""
    key = list(map(quote, table.primary_key))
    keys = timed.select(*(F.col(name).alias(f"__key{i}") for i, name in enumerate(key))).distinct()
    condition = F.lit(True)
    for i, name in enumerate(key):
        condition = condition & F.col(name).eqNullSafe(F.col(f"__key{i}"))
    start, end = F.col(quote(history.start)), F.col(quote(history.end))
    rows = timed.sparkSession.table(table.sql_name).join(keys, condition, "left_semi")
    last = F.max_by(
        F.struct(end.isNull().alias(_PRESENT), _struct(data).alias(_ROW), F.coalesce(end, start).alias(_TIME)),
        F.struct(F.coalesce(end, start), end.isNull()),
    )
    grouped = rows.groupBy(*key).agg(last.alias(_LAST))
    names = (_PRESENT, _ROW, _TIME)
    return grouped.select(*key, *(f"{_LAST}.{name}" for name in names), F.lit(-1).cast("bigint").alias(_ORDER))


def _compute_rows(changes: DataFrame, existing: DataFrame, primary_key: Sequence[str]) -> DataFrame:
    """Return the rows that are new, and those whose end changes; a row that ends when it begins is not present."""
    key = list(map(quote, primary_key))
    in_order = Window.partitionBy(*key).orderBy(_ORDER)
    by_time = Window.partitionBy(*key).orderBy(_TIME)
    timed = existing.unionByName(changes).withColumn(_TIME, F.max(_TIME).over(in_order))
    last = F.max_by(F.struct(_PRESENT, _ROW, _ORDER), _ORDER).alias(_LAST)
    states = timed.groupBy(*key, _TIME).agg(last).select(*key, _TIME, f"{_LAST}.*")
    states = states.withColumn(_STATE, _comparable(states)).withColumn(_BEFORE, F.lag(_STATE).over(by_time))
    states = states.where(F.col(_BEFORE).isNull() | ~F.col(_BEFORE).eqNullSafe(F.col(_STATE)))
    ended = states.withColumn(_END, F.lead(_TIME).over(by_time))
    # the last row of the table stays as it is unless it ends
    return ended.where((F.col(_ORDER) >= 0) | (F.col(_PRESENT) & F.col(_END).isNotNull())).drop(_STATE, _BEFORE, _ORDER)


def _comparable(states: DataFrame) -> Column:
    """Return a value that differs if rows do. Spark does not compare maps and variants; a deleted row has no values."""
    text = states.schema[_ROW].dataType.simpleString()
    row = F.to_json(_ROW) if "map<" in text or "variant" in text else F.col(_ROW)
    return F.struct(_PRESENT, F.when(F.col(_PRESENT), row).alias("values"))


def merge_statement(table: SparkTable, history: History, data: Sequence[str]) -> str:
    """Return the MERGE of the view of rows into a table."""
    start = quote(history.start)
    values = {quote(name): f"s.{_ROW}.{quote(name)}" for name in data} | {quote(history.end): f"s.{_END}"}
    if history.current is not None:
        values[quote(history.current)] = f"s.{_END} IS NULL"
    key = {quote(name): f"s.{quote(name)}" for name in table.primary_key}
    inserted = {**key, start: f"s.{_TIME}", **values}
    return "\n".join(
        [
            f"MERGE INTO {table.sql_name} AS t USING {_ROWS} AS s",
            "ON "
            + " AND ".join(f"t.{name} <=> {value}" for name, value in key.items())
            + f" AND t.{start} = s.{_TIME}",
            f"WHEN MATCHED AND NOT s.{_PRESENT} THEN DELETE",
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = {value}' for name, value in values.items())}",
            f"WHEN NOT MATCHED AND s.{_PRESENT}",
            f"THEN INSERT ({', '.join(inserted)}) VALUES ({', '.join(inserted.values())})",
        ]
    )


def _columns(history: History) -> list[str]:
    return [name for name in (history.start, history.end, history.current) if name is not None]


def _struct(data: Sequence[str]) -> Column:
    return F.struct(F.lit(1).alias("__kafka_sql"), *map(quote, data))
