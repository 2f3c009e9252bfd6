"""Write the rows of a source to the tables of several INSERTs: each micro-batch is read once.

Spark's streaming query has one sink. So a shared query reads the source only, keeps the rows of a micro-batch, and
executes the plan of each INSERT over them in ``foreachBatch``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, class_name, elements, output
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors
from kafka_sql.sql.jobs.targets.builtin_sinks import write_batch
from kafka_sql.sql.jobs.targets.file_sink import claim_file_sink
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable
from kafka_sql.sql.jobs.targets.spark_writes import append_batch, merge, write_files

_WATERMARK: Final = "EventTimeWatermark"  # it has no effect on the rows of a micro-batch


@dataclass(frozen=True)
class Write:
    """One INSERT of a shared query.

    Attributes:
        target: the table to write.
        rows: the rows of the INSERT, in the table's columns, as if it were a separate query.
    """

    target: CatalogTable | SparkTable
    rows: DataFrame

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.target.name if isinstance(self.target, SparkTable) else self.target.definition.name


@dataclass(frozen=True)
class SharedSink:
    """The INSERTs of a shared query, all of which read one stream."""

    writes: Sequence[Write]

    @property
    def name(self) -> str:
        """The names of the tables, for messages."""
        return "', '".join(write.table for write in self.writes)

    @property
    def description(self) -> Json:
        """What a checkpoint requires: the same tables in the same order."""
        return {"name": f"tables '{self.name}'"}


def read_source(spark: SparkSession, writes: Sequence[Write]) -> DataFrame:
    """Return the stream that INSERTs read, with the columns that any of them uses."""
    catalyst = Catalyst(spark)
    leaf = _path(analyzed_plan(writes[0].rows))[-1]
    return catalyst.dataframe(catalyst.project([output(leaf)[i] for i in _used_columns(writes)], leaf))


def start_shared(writer: DataStreamWriter, sink: SharedSink) -> StreamingQuery:
    """Start a query of ``read_source`` whose name and checkpoint are set."""
    session = SparkSession.active()
    columns = _used_columns(sink.writes)
    plans = [_path(analyzed_plan(write.rows)) for write in sink.writes]

    def write_all(batch_rows: DataFrame, batch: int) -> None:
        batch_rows.persist()
        try:
            for number, (write, path) in enumerate(zip(sink.writes, plans, strict=True)):
                rows = _over_batch(batch_rows, path, columns)
                _write(session, write.target, rows, batch, str(number))
        finally:
            batch_rows.unpersist()

    return writer.outputMode("append").foreachBatch(with_short_errors(write_all)).start()


@contextmanager
def claim_file_sinks(spark: SparkSession, writes: Sequence[Write], checkpoint: str) -> Iterator[None]:
    """Record that a query writes file-based tables; see ``claim_file_sink``."""
    with ExitStack() as stack:
        for write in writes:
            if isinstance(write.target, SparkTable) and write.target.sink is Sink.FILES:
                stack.enter_context(claim_file_sink(spark, write.target, checkpoint))
        yield


def _path(plan: Plan) -> list[Plan]:
    """Return the operators of a plan without branches, from the last one to the source."""
    path = [plan]
    while children := elements(path[-1].children()):
        (child,) = children
        path.append(child)
    return path


def _used_columns(writes: Sequence[Write]) -> list[int]:
    """Return the positions of the source's columns that the plans of INSERTs use."""
    used: set[int] = set()
    for write in writes:
        *operators, leaf = _path(analyzed_plan(write.rows))
        needed = [operator.references() for operator in operators]
        needed += [operator.outputSet() for operator in operators[:1]]
        used |= {i for i, column in enumerate(output(leaf)) if any(columns.contains(column) for columns in needed)}
    return sorted(used)


def _over_batch(batch_rows: DataFrame, path: Sequence[Plan], columns: Sequence[int]) -> DataFrame:
    """Return the rows of an INSERT for a micro-batch: its plan, with the micro-batch in place of the stream."""
    catalyst = Catalyst(batch_rows.sparkSession)
    batch = analyzed_plan(batch_rows)
    *operators, leaf = path
    source = output(leaf)
    names = [source[i] for i in columns]
    plan = catalyst.project([catalyst.alias(c, n) for c, n in zip(output(batch), names, strict=True)], batch)
    for operator in reversed(operators):
        if class_name(operator) != _WATERMARK:
            plan = catalyst.with_inputs(operator, [plan])
    return catalyst.dataframe(plan)


def _write(session: SparkSession, target: CatalogTable | SparkTable, rows: DataFrame, batch: int, part: str) -> None:
    """Write the rows of one INSERT for a micro-batch.

    Args:
        part: identifies the INSERT in the query.
    """
    if isinstance(target, SparkTable):
        if target.primary_key:
            merge(rows, batch, target, part)
            session.catalog.refreshTable(target.sql_name)  # see start_merge
        elif target.sink is Sink.FILES:
            write_files(rows, batch, target)
        else:
            append_batch(rows, batch, target, part)
    elif target.definition.is_builtin:
        write_batch(target, rows)
    else:
        writer: Any = rows.write
        writer.format(target.provider).mode("append").save()
