"""Continuous queries that end by themselves, because every stream that they read is bounded."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.errors import CheckpointError
from kafka_sql.observability.metrics import parse_offset
from kafka_sql.options import connector as opt
from kafka_sql.runtime.spark_context import spark_context
from kafka_sql.source.stream.stream_offset import from_json

_ATTRIBUTE: Final = "_kafka_sql_ends"
_LOOK: Final = 1  # second between two looks at a query's progress
_ANALYZED: Final = re.compile(r"== Analyzed Logical Plan ==\n(.*?)\n== ", re.DOTALL)
_STREAM: Final = re.compile(r"StreamingRelation\S* ([^,\s]+)")


def are_all_bounded(streamed: Sequence[CatalogTable], explain: Callable[[], str]) -> bool:
    """Whether a query's streams all have an end.

    Args:
        streamed: the Kafka tables that it reads as streams.
        explain: its plans in Spark's words, which show streams that are not Kafka's, too.
    """
    if not streamed or any(e.definition.options[opt.BOUNDED_MODE] == opt.UNBOUNDED for e in streamed):
        return False
    plan = _ANALYZED.search(explain())
    return plan is not None and {*_STREAM.findall(plan[1])} <= {e.provider for e in streamed}


def stop_at_end(query: StreamingQuery) -> None:
    """Stop a query when it has read all its streams to their ends; those may not exist yet.

    Where they do exist, Trigger.AvailableNow ends it without us.
    """
    threading.Thread(target=_watch, args=(query,), name=f"end of {query.name}", daemon=True).start()


def stop_queries_at_end(spark: SparkSession) -> None:
    """Stop whatever query of a session has read nothing but bounded streams, to their ends, from now on.

    Spark has no source that says "this was all", so its listener looks. A Connect session has no such listener here.
    """
    if spark_context(spark) is not None and not spark.__dict__.get(_ATTRIBUTE):
        spark.__dict__[_ATTRIBUTE] = True
        spark.streams.addListener(_Ends(spark))


class _Ends(StreamingQueryListener):
    """Stops queries that are at their end."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._stopping: set[str] = set()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing has been read."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A batch has ended."""
        if _at_end(event.progress):
            self._stop(str(event.progress.id))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """A query that was started again at its end has no batch."""
        query = self._spark.streams.get(str(event.id))
        if query is not None and _at_end(query.lastProgress):
            self._stop(str(event.id))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """It may be started again."""
        self._stopping.discard(str(event.id))

    def _stop(self, id: str) -> None:
        query = self._spark.streams.get(id)
        if query is not None and id not in self._stopping:
            self._stopping.add(id)
            # not here: the query tells its listeners of its end, and waits for none that waits for it
            threading.Thread(target=_stop, args=(query,), name=f"end of {query.name}", daemon=True).start()


def _watch(query: StreamingQuery) -> None:
    with contextlib.suppress(StreamingQueryException):  # its failure stands in the query itself
        while not query.awaitTermination(_LOOK):
            if _at_end(query.lastProgress):
                _stop(query)
                return


def _stop(query: StreamingQuery) -> None:
    """Stop a query that has read everything, after the batch without rows that may close its last windows."""
    with contextlib.suppress(StreamingQueryException):  # as above
        if (progress := query.lastProgress) is not None and "watermark" in (progress.eventTime or {}):
            query.processAllAvailable()
        query.stop()


def _at_end(progress: StreamingQueryProgress | None) -> bool:
    # its JSON: PySpark 4.1 makes Python's text of the offsets in it
    sources = json.loads(progress.json)["sources"] if progress is not None else []
    return bool(sources) and all(is_end_reached(source.get("endOffset")) for source in sources)


def is_end_reached(end: Any) -> bool:
    """Whether an offset of a source, as Spark shows it, is the end of a bounded range of ours.

    Args:
        end: JSON, or its text.
    """
    try:
        progress = from_json(parse_offset(end))
    except CheckpointError:  # another source's
        return False
    return bool(progress.stops) and all(progress.offsets.get(p, stop) >= stop for p, stop in progress.stops.items())
