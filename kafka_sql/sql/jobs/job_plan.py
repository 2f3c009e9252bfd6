"""Define what an INSERT becomes: a plan, decided by ``plan``, that the room of its mode runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from pyspark.sql import DataFrame

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.sql.jobs.changelog.relation import Mode
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_sink
from kafka_sql.sql.jobs.targets.shared_sink import SharedSink, Write
from kafka_sql.sql.jobs.targets.spark_table import SparkTable


class JobMode(Enum):
    """How a job runs."""

    BATCH = "one write, with which the statement ends"
    MICRO_BATCH = "a continuous query of micro-batches"
    REAL_TIME = "a continuous query in Spark's real-time mode"


@dataclass(frozen=True)
class JobPlan:
    """What an INSERT becomes."""

    mode: JobMode  # how it runs
    text: str  # SQL for Spark: the INSERT if Spark executes it, otherwise its query
    # the table to write, a Kafka table with the options of its hint; several tables if INSERTs of a set share a query;
    # None if Spark executes an INSERT into a Spark table
    sink: CatalogTable | SparkTable | SharedSink | None = None
    # the rows in the sink's columns, for several tables those of the source; None if Spark executes the INSERT
    rows: DataFrame | None = None
    # the Kafka tables that the query reads, with the options of their hints; in a continuous query, those that it reads
    # as streams
    sources: Sequence[CatalogTable] = ()
    is_bounded: bool = False  # whether all streams are bounded, so that a continuous query ends
    # how the rows change. Over Spark Connect, it is unknown; changes are rejected.
    changelog_mode: Mode = Mode.INSERT_ONLY
    uses_update_mode: bool = False  # whether the query runs in Spark's update mode
    states: tuple[Json, ...] = ()  # the stateful operators of this package, as in a fingerprint
    show_operators: Callable[[], str] = str  # returns the operators of a continuous query for EXPLAIN
    # the name of a continuous query and of its checkpoint; before its checks, None for 'pipeline.name'
    name: str | None = None
    checkpoint: str = ""  # the folder of its checkpoint, once its checks have passed
    # what the checkpoint requires of the query; None over Spark Connect, which has no access to it
    fingerprint: Json | None = None

    @property
    def is_continuous(self) -> bool:
        """Whether the job is a continuous query."""
        return self.mode is not JobMode.BATCH

    @property
    def stream(self) -> DataFrame:
        """The rows of a continuous query."""
        assert self.rows is not None
        return self.rows

    @property
    def sink_name(self) -> str:
        """The name of the table for messages, jobs and checkpoints."""
        if isinstance(self.sink, CatalogTable):
            return self.sink.definition.name
        return self.sink.name if self.sink is not None else ""

    @property
    def writes(self) -> Sequence[Write]:
        """The tables that a continuous query writes, each with its rows."""
        if isinstance(self.sink, SharedSink):
            return self.sink.writes
        return [Write(self.sink, self.stream)] if self.sink is not None else []

    @property
    def sink_description(self) -> Json:
        """What the checkpoint of a continuous query requires of the table."""
        match self.sink:
            case SharedSink(description=description):
                return description
            case SparkTable() as table:
                key = {"key": list(table.primary_key)} if table.primary_key else {}
                history = {"history": table.history.start} if table.history is not None else {}
                return {"name": f"table '{table.name}'", **key, **history}
            case CatalogTable() as entry:
                return describe_sink(entry.definition)
        return {}
