"""Analyze an INSERT of a continuous query into a Spark table: the rows to write, and how they are written.

Spark analyzes the INSERT like one of a batch, so column lists, BY NAME, PARTITION, default values and casts have the
same meaning. Only the plan of its rows is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.table_writes import FILES, V1, WrittenTable, analyze_write
from kafka_sql.sql.jobs.real_time.source import check_is_kafka_table
from kafka_sql.sql.jobs.targets.spark_table import History, Sink, SparkTable
from kafka_sql.sql.recognize.statement_types import Insert

PRIMARY_KEY: Final = "primary-key"  # a table property: column names, separated by commas

SCD_TYPE: Final = "scd-type"  # a table property: 1 (the current rows) or 2 (the history of each row)
SCD_COLUMNS: Final = "scd-columns"  # a table property: the start and the end of a row, and whether it is current
_SCD_COLUMNS: Final = "__START_AT, __END_AT"  # the names of AUTO CDC in Spark's pipelines

_STREAMING_WRITE: Final = "STREAMING_WRITE"
_BATCH_WRITES: Final = frozenset({"BATCH_WRITE", "V1_BATCH_WRITE"})


def check_continuous_insert(spark: SparkSession, insert: Insert) -> None:
    """Check that a continuous query may write a table of Spark."""
    name = ".".join(insert.name)
    check_is_kafka_table(spark, name)
    if is_connect(spark):
        raise UnsupportedSqlError(
            f"INSERT INTO '{name}': over Spark Connect, a streaming INSERT can only write to a Kafka table. Use "
            f"spark.sql('SELECT ...').writeStream.option('checkpointLocation', '...').toTable('{name}').",
            table=name,
        )
    if insert.overwrite:
        raise _unsupported(name, "INSERT OVERWRITE is not supported in a continuous query. Use INSERT INTO")


def analyze_insert(spark: SparkSession, insert: Insert, query: DataFrame) -> tuple[SparkTable, DataFrame]:
    """Return the table of an INSERT, and the rows to write with the table's columns and types.

    Raises:
        UnsupportedSqlError: a stream cannot write the table, or the session is one of Spark Connect.
        AnalysisException: as for a batch INSERT; the table does not exist, or a column does not match.
    """
    written, rows = analyze_write(spark, insert.prefix, query)
    return describe_table(".".join(insert.name), written), rows


def describe_table(name: str, written: WrittenTable) -> SparkTable:
    """Return how the table of an INSERT is written.

    Raises:
        UnsupportedSqlError: a stream cannot write it.
        StatementError: its properties are not valid.
    """
    if written.command == "InsertIntoHiveTable":
        raise _unsupported(
            name, "a stream cannot write a table in Hive's format. Use a table created with USING parquet, for example"
        )
    if not written.parts:
        raise _unsupported(name, "a stream cannot write this table")
    if written.has_buckets:
        raise _unsupported(
            name,
            "Spark's streaming file sink does not support buckets (CLUSTERED BY). Use PARTITIONED BY or no buckets",
        )
    if written.command == FILES:
        options = {key: value for key, value in written.options.items() if key.lower() != "path"}
        return SparkTable(
            written.parts, written.provider, Sink.FILES, written.location, options, written.partition_columns
        )
    if written.command == V1:
        return SparkTable(written.parts, written.provider, Sink.BATCHES)
    primary_key = _primary_key(name, written)
    return SparkTable(
        written.parts,
        written.provider,
        _v2_sink(name, written),
        primary_key=primary_key,
        history=read_history(name, written, primary_key),
    )


def _v2_sink(name: str, written: WrittenTable) -> Sink:
    # Delta's streaming sink is one of Spark's V1 sinks
    if _STREAMING_WRITE in written.capabilities or written.provider == "delta":
        return Sink.STREAM
    if written.capabilities & _BATCH_WRITES:
        return Sink.BATCHES
    provider = written.provider or "this data source"
    raise UnsupportedSqlError(f"INSERT INTO '{name}': Spark cannot write tables of {provider}.", table=name)


def _primary_key(name: str, written: WrittenTable) -> list[str]:
    """Return the primary key that a table of Delta Lake or Iceberg declares.

    It is the table property 'primary-key', or else the identifier fields of an Iceberg table.
    """
    if written.provider not in ("delta", "iceberg"):
        return []
    declared = written.properties.get(PRIMARY_KEY)
    if declared is None:
        return list(written.identifier_fields)
    return _columns_of_property(name, PRIMARY_KEY, declared, written)


def read_history(name: str, written: WrittenTable, primary_key: Sequence[str]) -> History | None:
    """Return the columns of a table's history; None if the table has only current rows.

    Raises:
        StatementError: the table has no such columns or no primary key, or a column has another type.
    """
    scd_type = written.properties.get(SCD_TYPE) or "1"
    if written.provider not in ("delta", "iceberg") or scd_type == "1":
        return None

    def fail(problem: str) -> StatementError:
        message = f"INSERT INTO '{name}': the table property '{SCD_TYPE}' = '{scd_type}' {problem}."
        return StatementError(message, table=name)

    if scd_type != "2":
        raise fail("is not supported. Use '1' (current rows only) or '2' (the history of each row)")
    if not primary_key:
        raise fail(f"requires a primary key. Set the table property '{PRIMARY_KEY}'")
    types = written.types
    declared = written.properties.get(SCD_COLUMNS) or _SCD_COLUMNS
    names = _columns_of_property(name, SCD_COLUMNS, declared, written)
    if len(names) not in (2, 3) or len(set(names) - set(primary_key)) != len(names):
        raise fail(
            f"requires '{SCD_COLUMNS}' with two or three columns that are not part of the primary key: the start and "
            f"the end of a row, and whether it is current; it is '{declared}'"
        )
    history = History(*names)
    if types[history.start] != types[history.end]:
        raise fail(
            f"requires columns of the same type: '{history.start}' is {types[history.start]}, "
            f"'{history.end}' is {types[history.end]}"
        )
    if history.current is not None and types[history.current] != "boolean":
        raise fail(f"requires a BOOLEAN: '{history.current}' is {types[history.current]}")
    return history


def _columns_of_property(name: str, key: str, declared: str, written: WrittenTable) -> list[str]:
    """Return the columns that a table property names."""
    columns = {column.lower(): column for column in written.types}
    names = [part.strip() for part in declared.split(",")]
    for column in names:
        if column.lower() not in columns:
            raise StatementError(
                f"INSERT INTO '{name}': the table property '{key}' = '{declared}' names column '{column}', "
                f"which the table does not have. Its columns are {', '.join(columns.values())}.",
                table=name,
            )
    return [columns[column.lower()] for column in names]


def _unsupported(name: str, reason: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"INSERT INTO '{name}': {reason}. Or run it as a batch query: SET 'execution.runtime-mode' = 'batch', and "
        "remove STREAM from the query.",
        table=name,
    )
