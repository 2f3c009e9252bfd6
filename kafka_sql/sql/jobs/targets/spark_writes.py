"""Write the rows of continuous queries into Spark tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.spark.session_settings import changed_settings
from kafka_sql.spark.table_writes import FileSink
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors
from kafka_sql.sql.jobs.targets.history import merge_history
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable
from kafka_sql.table.changelog import DELETE, KINDS, ROW_KIND_NAME, UPDATE_BEFORE

_QUERY_ID: Final = "sql.streaming.queryId"  # a local property of the thread of a streaming query
_CHANGES: Final = "__kafka_sql_changes"  # the temporary view of a micro-batch
_ORDER: Final = "__kafka_sql_order"
_RETRACTIONS: Final = f"('{KINDS[UPDATE_BEFORE]}', '{KINDS[DELETE]}')"
# Delta Lake ignores a write whose version it has already seen from the same application
_DELTA_APPLICATION, _DELTA_VERSION = (f"spark.databricks.delta.write.txn{name}" for name in ("AppId", "Version"))


def start_append(writer: DataStreamWriter, table: SparkTable) -> StreamingQuery:
    """Start a query that appends rows. Its name, checkpoint and output mode are set.

    Spark's file sink, Delta Lake and Iceberg write each micro-batch once. An append per micro-batch is repeated if the
    driver fails between the append and the commit of the batch.

    Raises:
        AnalysisException: Spark does not support the query in this output mode.
    """
    match table.sink:
        case Sink.FILES:
            writer = writer.format(table.provider).options(**table.options).partitionBy(*table.partition_columns)
            return writer.start(table.location)
        case Sink.STREAM:
            if table.provider == "delta":
                writer = writer.format("delta")
            # Iceberg writes rows of several partitions in any order only with a writer per partition
            return writer.option("fanout-enabled", "true").toTable(table.sql_name)
        case Sink.BATCHES:
            return writer.foreachBatch(with_short_errors(lambda rows, _: rows.write.insertInto(table.sql_name))).start()


def start_merge(writer: DataStreamWriter, table: SparkTable) -> StreamingQuery:
    """Start a query that updates, inserts and deletes rows by the table's primary key. See ``merge``."""
    session = SparkSession.active()

    def write(changes: DataFrame, batch: int) -> None:
        merge(changes, batch, table)
        # the query runs in another session, and Iceberg caches the state of a table for each session
        session.catalog.refreshTable(table.sql_name)

    return writer.foreachBatch(with_short_errors(write)).start()


def append_batch(rows: DataFrame, batch: int, table: SparkTable, part: str) -> None:
    """Append the rows of a micro-batch. Delta Lake ignores a repeated one; other tables get it again."""
    with _identified_write(rows.sparkSession, batch, part):
        rows.write.insertInto(table.sql_name)


def open_file_sink(spark: SparkSession, table: SparkTable) -> FileSink:
    """Open Spark's file sink for a file-based table. It ignores a micro-batch that is repeated.

    Raises:
        UnsupportedSqlError: Spark has no such sink.
    """
    return FileSink(spark, table.name, table.provider, table.location, table.partition_columns, table.options)


def merge(changes: DataFrame, batch: int, table: SparkTable, part: str = "") -> None:
    """Apply the last change of each primary key in a micro-batch with MERGE; or all, if the table keeps a history.

    A micro-batch that is repeated changes nothing: the last change of a key has the same result again.

    Args:
        changes: the table's columns, and a column with the row kind if there are deletes. The rows of a key are in one
            partition, in the order in which they apply.
        part: identifies the write if the query writes several tables.
    """
    spark = changes.sparkSession
    with _identified_write(spark, batch, part):
        if table.history is not None:
            merge_history(changes, table, table.history)
            return
        last = _last_changes(changes, table.primary_key).localCheckpoint()  # MERGE requires rows that do not change
        last.createOrReplaceTempView(_CHANGES)
        spark.sql(merge_statement(table, changes.columns)).collect()


def _last_changes(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return the last row of each key."""
    others = [quote(name) for name in changes.columns if name not in key]
    ordered = changes.withColumn(_ORDER, F.monotonically_increasing_id())  # before rows are shuffled
    last = F.max_by(F.struct(F.lit(1), *others), _ORDER).alias(_ORDER)
    rows = ordered.groupBy(*map(quote, key)).agg(last)
    return rows.select(*map(quote, key), *(f"{_ORDER}.{name}" for name in others))


def merge_statement(table: SparkTable, columns: Sequence[str]) -> str:
    """Return the MERGE of the view of a micro-batch's last changes into a table."""
    names = [quote(name) for name in columns if name != ROW_KIND_NAME]
    has_deletes = ROW_KIND_NAME in columns
    key = [quote(name) for name in table.primary_key]
    updates = ", ".join(f"t.{name} = s.{name}" for name in names if name not in key)
    clauses = [
        f"MERGE INTO {table.sql_name} AS t USING {_CHANGES} AS s",
        "ON " + " AND ".join(f"t.{name} <=> s.{name}" for name in key),
        f"WHEN MATCHED AND s.{ROW_KIND_NAME} IN {_RETRACTIONS} THEN DELETE" if has_deletes else "",
        f"WHEN MATCHED THEN UPDATE SET {updates}" if updates else "",
        f"WHEN NOT MATCHED{f' AND s.{ROW_KIND_NAME} NOT IN {_RETRACTIONS}' if has_deletes else ''}",
        f"THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})",
    ]
    return "\n".join(filter(None, clauses))


def _identified_write(spark: SparkSession, batch: int, part: str) -> AbstractContextManager[None]:
    """Let Delta Lake ignore a repeated micro-batch, so that it does not overwrite later changes of others."""
    query = spark.sparkContext.getLocalProperty(_QUERY_ID)
    if query is None:
        return nullcontext()
    application = f"{query}/{part}" if part else query
    return changed_settings(spark, {_DELTA_APPLICATION: application, _DELTA_VERSION: str(batch)})
