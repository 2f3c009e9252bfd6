"""Analyze INSERTs into Spark's tables without executing them, and write micro-batches with Spark's file sink."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.internal import Internal, java_classes
from kafka_sql.spark.jvm import (
    JavaError,
    JavaObject,
    from_java_dataset,
    java_dataset,
    java_session,
    jvm,
    session_state,
)
from kafka_sql.spark.session_catalog import SESSION_CATALOG

FILES: Final = "InsertIntoHadoopFsRelationCommand"
V1: Final = "InsertIntoDataSourceCommand"
V2: Final = frozenset({"AppendData", "AppendDelta"})


INTERNALS: Final[tuple[Internal, ...]] = (
    *java_classes(
        """
        org.apache.spark.sql.internal.SessionState sqlParser/0 executePlan/2 conf/0
        org.apache.spark.sql.execution.CommandExecutionMode SKIP/0
        org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand catalogTable/0 options/0 query/0
        org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand outputPath/0 partitionColumns/0
        org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand logicalRelation/0 query/0
        org.apache.spark.sql.catalyst.plans.logical.AppendData table/0 query/0
        scala.jdk.javaapi.CollectionConverters asJava/1
        """,
        "a streaming INSERT has the columns, defaults and casts of a batch",
        "streaming INSERTs into Spark tables fail before they start",
    ),
    *java_classes(
        """
        org.apache.spark.sql.execution.datasources.DataSource lookupDataSource/2
        org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2 fallbackFileFormat/0
        org.apache.spark.sql.execution.streaming.sinks.FileStreamSink new/5 addBatch/2
        """,
        "INSERTs of a statement set that share a read write file-based tables with it",
        "statement sets that write file-based tables fail when they start",
    ),
)


@dataclass(frozen=True)
class WrittenTable:
    """The table of an analyzed INSERT."""

    command: str  # Spark's class of the INSERT
    parts: tuple[str, ...] = ()  # catalog, databases and table; empty if Spark does not name the table
    provider: str = ""  # the format, in lower case
    location: str = ""  # the folder of a file-based table
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # the write options of a file-based table
    partition_columns: Sequence[str] = ()  # those of a file-based table
    has_buckets: bool = False  # whether it is a file-based table with buckets
    # the types of the columns of a table of DataSource V2, by name
    types: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)  # its table properties
    capabilities: frozenset[str] = frozenset()  # what it supports
    identifier_fields: Sequence[str] = ()  # the columns that identify a row of an Iceberg table


def analyze_write(spark: SparkSession, insert: str, query: DataFrame) -> tuple[WrittenTable, DataFrame]:
    """Return the table of an INSERT, and the rows to write with its columns and types.

    Args:
        insert: the INSERT up to its query.

    Raises:
        AnalysisException: the table does not exist, or a column does not match.
    """
    view = f"__kafka_sql_{uuid.uuid4().hex}"
    query.createOrReplaceTempView(view)
    state = session_state(spark)
    try:
        parsed = state.sqlParser().parsePlan(f"{insert} TABLE {view}")
        skip = jvm(spark).org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
        plan = state.executePlan(parsed, skip).analyzed()
    finally:
        spark.catalog.dropTempView(view)
    table = _describe(spark, plan)
    rows = jvm(spark).org.apache.spark.sql.classic.Dataset.ofRows(java_session(spark), plan.query())
    return table, from_java_dataset(rows, spark)


def _describe(spark: SparkSession, plan: JavaObject) -> WrittenTable:
    command = str(plan.getClass().getSimpleName())
    if command == FILES and plan.catalogTable().isDefined():
        metadata = plan.catalogTable().get()
        options = jvm(spark).scala.jdk.javaapi.CollectionConverters.asJava(plan.options())
        return WrittenTable(
            command,
            _v1_parts(metadata),
            _v1_provider(metadata),
            str(plan.outputPath().toString()),
            {str(key): str(options[key]) for key in options},
            [str(plan.partitionColumns().apply(i).name()) for i in range(plan.partitionColumns().size())],
            bool(metadata.bucketSpec().isDefined()),
        )
    if command == V1 and plan.logicalRelation().catalogTable().isDefined():
        metadata = plan.logicalRelation().catalogTable().get()
        return WrittenTable(command, _v1_parts(metadata), _v1_provider(metadata))
    if command in V2 and plan.table().identifier().isDefined():
        return _describe_v2(command, plan.table())
    return WrittenTable(command)


def _describe_v2(command: str, relation: JavaObject) -> WrittenTable:
    identifier, catalog, table = relation.identifier().get(), relation.catalog(), relation.table()
    parts = (catalog.get().name() if catalog.isDefined() else SESSION_CATALOG, *identifier.namespace())
    properties = {str(key): str(value) for key, value in table.properties().items()}
    provider = properties.get("provider", "").lower()
    identifier_fields = table.table().schema().identifierFieldNames() if provider == "iceberg" else ()
    return WrittenTable(
        command,
        (*map(str, parts), str(identifier.name())),
        provider,
        types={str(column.name()): str(column.dataType().simpleString()) for column in table.columns()},
        properties=properties,
        capabilities=frozenset(map(str, table.capabilities())),
        identifier_fields=sorted(map(str, identifier_fields)),
    )


def _v1_parts(metadata: JavaObject) -> tuple[str, ...]:
    identifier = metadata.identifier()
    return SESSION_CATALOG, str(identifier.database().get()), str(identifier.table())


def _v1_provider(metadata: JavaObject) -> str:
    return str(metadata.provider().get()).lower() if metadata.provider().isDefined() else ""


class FileSink:
    """Spark's streaming file sink, which writes a micro-batch once, even if it is repeated."""

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        provider: str,
        location: str,
        partition_columns: Sequence[str],
        options: Mapping[str, str],
    ) -> None:
        """Open the sink of a file-based table, when a query starts.

        Args:
            name: the table, for messages.

        Raises:
            UnsupportedSqlError: this version of Spark has no such sink.
        """
        java = jvm(spark)
        lookup = java.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource
        python = java.org.apache.spark.api.python.PythonUtils
        try:
            format = lookup(provider, session_state(spark).conf()).getDeclaredConstructor(None).newInstance(None)
            if hasattr(format, "fallbackFileFormat"):  # the sink writes with the format's first implementation
                format = format.fallbackFileFormat().getDeclaredConstructor(None).newInstance(None)
            self._sink: Any = java.org.apache.spark.sql.execution.streaming.sinks.FileStreamSink(
                java_session(spark),
                location,
                format,
                python.toSeq(list(partition_columns)),
                python.toScalaMap(dict(options)),
            )
        except (JavaError, TypeError) as e:  # TypeError: the class does not exist
            raise UnsupportedSqlError(
                f"INSERT INTO '{name}': Spark's file sink cannot be opened: {str(e).partition(chr(10))[0]}. Write this "
                "table with a separate statement, outside of the statement set.",
                table=name,
            ) from e

    def add_batch(self, rows: DataFrame, batch: int) -> None:
        """Write a micro-batch."""
        self._sink.addBatch(batch, java_dataset(rows))
