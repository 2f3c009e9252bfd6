"""Analyze an INSERT of a continuous query into a Spark table: the rows to write, and how they are written.

Spark analyzes the INSERT like one of a batch, so column lists, BY NAME, PARTITION, default values and casts have the
same meaning. Only the plan of its rows is used.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.spark.context import spark_context
from kafka_sql.sql.recognize.classify import Insert

PRIMARY_KEY: Final = "primary-key"  # a table property: column names, separated by commas

SCD_TYPE: Final = "scd-type"  # a table property: 1 (the current rows) or 2 (the history of each row)
SCD_COLUMNS: Final = "scd-columns"  # a table property: the start and the end of a row, and whether it is current
_SCD_COLUMNS: Final = "__START_AT, __END_AT"  # the names of AUTO CDC in Spark's pipelines

_FILES: Final = "InsertIntoHadoopFsRelationCommand"
_V1: Final = "InsertIntoDataSourceCommand"
_V2: Final = frozenset({"AppendData", "AppendDelta"})
_STREAMING_WRITE: Final = "STREAMING_WRITE"
_BATCH_WRITES: Final = frozenset({"BATCH_WRITE", "V1_BATCH_WRITE"})


class Sink(Enum):
    """How the rows of a continuous query are written into a table."""

    FILES = "Spark's file sink, which keeps a log of the files of each micro-batch"
    STREAM = "the table's own streaming sink"
    BATCHES = "one append per micro-batch"


@dataclass(frozen=True)
class History:
    """The columns of a table that keeps the history of its rows (a slowly changing dimension of type 2).

    Attributes:
        start: when a change made the row valid. The query returns it.
        end: when the next change of the row came; NULL in a current row.
        current: whether a row is current; None if the table has no such column.
    """

    start: str
    end: str
    current: str | None = None


@dataclass(frozen=True)
class SparkTable:
    """A Spark table that a continuous query writes.

    Attributes:
        parts: catalog, databases and table.
        provider: the format, such as ``parquet``, ``delta`` or ``iceberg``.
        sink: how rows are written into it.
        location: the folder of a file-based table.
        options: the write options of a file-based table.
        partition_columns: those of a file-based table.
        primary_key: the columns that identify a row, if the table declares them and supports MERGE.
        history: the columns of the history, if the table keeps one.
    """

    parts: tuple[str, ...]
    provider: str
    sink: Sink
    location: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    partition_columns: Sequence[str] = ()
    primary_key: Sequence[str] = ()
    history: History | None = None

    @property
    def name(self) -> str:
        """The name for messages, jobs and checkpoints; without Spark's own catalog."""
        return ".".join(self.parts[1:] if self.parts[0] == "spark_catalog" else self.parts)

    @property
    def sql_name(self) -> str:
        """The qualified name in SQL."""
        return qualified_name(self.parts)


def analyze_insert(spark: SparkSession, insert: Insert, query: DataFrame) -> tuple[SparkTable, DataFrame]:
    """Return the table of an INSERT, and the rows to write with the table's columns and types.

    Args:
        insert: the statement; its query is ignored.
        query: the streaming query.

    Raises:
        UnsupportedSqlError: a stream cannot write the table, or the session is one of Spark Connect.
        AnalysisException: as for a batch INSERT; the table does not exist, or a column does not match.
    """
    name = ".".join(insert.name)
    if spark_context(spark) is None:
        raise UnsupportedSqlError(
            f"INSERT INTO '{name}': over Spark Connect, a streaming INSERT can only write to a Kafka table. Use "
            f"spark.sql('SELECT ...').writeStream.option('checkpointLocation', '...').toTable('{name}').",
            table=name,
        )
    if insert.overwrite:
        raise _unsupported(name, "INSERT OVERWRITE is not supported in a continuous query. Use INSERT INTO")
    view = f"__kafka_sql_{uuid.uuid4().hex}"
    query.createOrReplaceTempView(view)
    session: Any = spark
    jvm, java_session = session._jvm, session._jsparkSession
    try:
        parsed = java_session.sessionState().sqlParser().parsePlan(f"{insert.prefix} TABLE {view}")
        skip = jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
        plan = java_session.sessionState().executePlan(parsed, skip).analyzed()
    finally:
        spark.catalog.dropTempView(view)
    table = _describe(jvm, name, plan)
    rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows(java_session, plan.query())
    return table, DataFrame(rows, spark)


def _describe(jvm: Any, name: str, plan: Any) -> SparkTable:
    """Return the table of an analyzed INSERT.

    Raises:
        UnsupportedSqlError: a stream cannot write it.
    """
    command = str(plan.getClass().getSimpleName())
    if command == _FILES and plan.catalogTable().isDefined():
        return _describe_files(jvm, name, plan)
    if command == _V1 and plan.logicalRelation().catalogTable().isDefined():
        metadata = plan.logicalRelation().catalogTable().get()
        return SparkTable(_v1_parts(metadata), _provider(metadata), Sink.BATCHES)
    if command in _V2 and plan.table().identifier().isDefined():
        relation = plan.table()
        identifier, catalog = relation.identifier().get(), relation.catalog()
        parts = (catalog.get().name() if catalog.isDefined() else "spark_catalog", *identifier.namespace())
        provider = str(relation.table().properties().get("provider") or "").lower()
        primary_key = _primary_key(name, provider, relation.table())
        return SparkTable(
            (*map(str, parts), str(identifier.name())),
            provider,
            _v2_sink(name, provider, relation),
            primary_key=primary_key,
            history=read_history(name, provider, relation.table(), primary_key),
        )
    if command == "InsertIntoHiveTable":
        raise _unsupported(
            name, "a stream cannot write a table in Hive's format. Use a table created with USING parquet, for example"
        )
    raise _unsupported(name, "a stream cannot write this table")


def _describe_files(jvm: Any, name: str, plan: Any) -> SparkTable:
    metadata = plan.catalogTable().get()
    if metadata.bucketSpec().isDefined():
        raise _unsupported(
            name,
            "Spark's streaming file sink does not support buckets (CLUSTERED BY). Use PARTITIONED BY or no buckets",
        )
    options = jvm.scala.jdk.javaapi.CollectionConverters.asJava(plan.options())
    return SparkTable(
        _v1_parts(metadata),
        _provider(metadata),
        Sink.FILES,
        str(plan.outputPath().toString()),
        {str(key): str(options[key]) for key in options if key.lower() != "path"},
        [str(plan.partitionColumns().apply(i).name()) for i in range(plan.partitionColumns().size())],
    )


def _v1_parts(metadata: Any) -> tuple[str, ...]:
    identifier = metadata.identifier()
    return "spark_catalog", str(identifier.database().get()), str(identifier.table())


def _provider(metadata: Any) -> str:
    return str(metadata.provider().get()).lower() if metadata.provider().isDefined() else ""


def _v2_sink(name: str, provider: str, relation: Any) -> Sink:
    capabilities = {str(capability) for capability in relation.table().capabilities()}
    if _STREAMING_WRITE in capabilities or provider == "delta":  # Delta's streaming sink is one of Spark's V1 sinks
        return Sink.STREAM
    if capabilities & _BATCH_WRITES:
        return Sink.BATCHES
    raise UnsupportedSqlError(
        f"INSERT INTO '{name}': Spark cannot write tables of {provider or 'this data source'}.", table=name
    )


def _primary_key(name: str, provider: str, table: Any) -> list[str]:
    """Return the primary key that a table of Delta Lake or Iceberg declares.

    It is the table property 'primary-key', or else the identifier fields of an Iceberg table.

    Raises:
        StatementError: the property names a column that the table does not have.
    """
    if provider not in ("delta", "iceberg"):
        return []
    columns = {str(column.name()).lower(): str(column.name()) for column in table.columns()}
    declared = table.properties().get(PRIMARY_KEY)
    if declared is None:
        return sorted(map(str, table.table().schema().identifierFieldNames())) if provider == "iceberg" else []
    return _columns_of_property(name, PRIMARY_KEY, str(declared), columns)


def read_history(name: str, provider: str, table: Any, primary_key: Sequence[str]) -> History | None:
    """Return the columns of a table's history; None if the table has only current rows.

    Raises:
        StatementError: the table has no such columns or no primary key, or a column has another type.
    """
    scd_type = str(table.properties().get(SCD_TYPE) or "1")
    if provider not in ("delta", "iceberg") or scd_type == "1":
        return None

    def fail(problem: str) -> StatementError:
        message = f"INSERT INTO '{name}': the table property '{SCD_TYPE}' = '{scd_type}' {problem}."
        return StatementError(message, table=name)

    if scd_type != "2":
        raise fail("is not supported. Use '1' (current rows only) or '2' (the history of each row)")
    if not primary_key:
        raise fail(f"requires a primary key. Set the table property '{PRIMARY_KEY}'")
    types = {str(column.name()).lower(): str(column.dataType().simpleString()) for column in table.columns()}
    columns = {str(column.name()).lower(): str(column.name()) for column in table.columns()}
    declared = str(table.properties().get(SCD_COLUMNS) or _SCD_COLUMNS)
    names = _columns_of_property(name, SCD_COLUMNS, declared, columns)
    if len(names) not in (2, 3) or len(set(names) - set(primary_key)) != len(names):
        raise fail(
            f"requires '{SCD_COLUMNS}' with two or three columns that are not part of the primary key: the start and "
            f"the end of a row, and whether it is current; it is '{declared}'"
        )
    history = History(*names)
    if types[history.start.lower()] != types[history.end.lower()]:
        raise fail(
            f"requires columns of the same type: '{history.start}' is {types[history.start.lower()]}, "
            f"'{history.end}' is {types[history.end.lower()]}"
        )
    if history.current is not None and types[history.current.lower()] != "boolean":
        raise fail(f"requires a BOOLEAN: '{history.current}' is {types[history.current.lower()]}")
    return history


def _columns_of_property(name: str, key: str, declared: str, columns: Mapping[str, str]) -> list[str]:
    """Return the columns that a table property names.

    Args:
        columns: the table's columns, by their names in lower case.

    Raises:
        StatementError: the table does not have one of them.
    """
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
