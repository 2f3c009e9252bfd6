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
        return ".".join(self.parts[1:] if self.parts[0] == SESSION_CATALOG else self.parts)

    @property
    def sql_name(self) -> str:
        """The qualified name in SQL."""
        return qualified_name(self.parts)
