"""Know which Kafka tables the queries in real-time mode read: their sources are Spark's own, which report no table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_sql.source.stream.offset_commits import OffsetCommitter


@dataclass(frozen=True)
class SparkSource:
    """A source of a query in real-time mode.

    Attributes:
        table: the table's name.
        committer: commits the table's offsets; None if they are not committed.
    """

    table: str
    committer: OffsetCommitter | None


_SOURCES: Final[dict[str, Sequence[SparkSource]]] = {}  # by query id


def add_sources(query: str, sources: Sequence[SparkSource]) -> None:
    """Add the sources of a query that starts, in the order in which Spark reports them."""
    _SOURCES[query] = sources


def remove_sources(query: str, sources: Sequence[SparkSource]) -> None:
    """Remove the sources of a query that has ended, unless it was restarted."""
    if _SOURCES.get(query) is sources:
        del _SOURCES[query]


def find_sources(query: str) -> Sequence[SparkSource]:
    """Return the sources of a query; none if it does not run in real-time mode."""
    return _SOURCES.get(query, ())
