"""Define the Spark tables that continuous queries write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.spark.session_catalog import SESSION_CATALOG


class Sink(Enum):
    """How the rows of a continuous query are written into a table."""

    FILES = "Spark's file sink, which keeps a log of the files of each micro-batch"
    STREAM = "the table's own streaming sink"
    BATCHES = "one append per micro-batch"


@dataclass(frozen=True)
class History:
    """The columns of a table that keeps the history of its rows (a slowly changing dimension of type 2)."""

    start: str  # when a change made the row valid. The query returns it.
    end: str  # when the next change of the row came; NULL in a current row
    current: str | None = None  # whether a row is current; None if the table has no such column


@dataclass(frozen=True)
class SparkTable:
    """A Spark table that a continuous query writes."""

    parts: tuple[str, ...]  # catalog, databases and table
    provider: str  # the format, such as ``parquet``, ``delta`` or ``iceberg``
    sink: Sink  # how rows are written into it
    location: str = ""  # the folder of a file-based table
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # the write options of a file-based table
    partition_columns: Sequence[str] = ()  # those of a file-based table
    primary_key: Sequence[str] = ()  # the columns that identify a row, if the table declares them and supports MERGE
    history: History | None = None  # the columns of the history, if the table keeps one

    @property
    def name(self) -> str:
        """The name for messages, jobs and checkpoints; without Spark's own catalog."""
        return ".".join(self.parts[1:] if self.parts[0] == SESSION_CATALOG else self.parts)

    @property
    def sql_name(self) -> str:
        """The qualified name in SQL."""
        return qualified_name(self.parts)
