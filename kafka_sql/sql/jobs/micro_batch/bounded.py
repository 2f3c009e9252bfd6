"""Stop continuous queries that read only bounded streams, once they have read them."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Sequence
from typing import Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.errors import CheckpointError
from kafka_sql.observability.metrics import parse_offset
from kafka_sql.options import connector as opt
from kafka_sql.source.stream.stream_offset import from_json
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.streaming_queries import add_listener

_ATTRIBUTE: Final = "_kafka_sql_end_listener"
_POLL_SECONDS: Final = 1  # between two checks of a query's progress


def are_all_bounded(tables: Sequence[CatalogTable], query: DataFrame) -> bool:
    """Return whether all streams of a query are bounded.

    Args:
        tables: the Kafka tables that the query reads as streams. It may also read streams of other sources.
    """
    if not tables or any(t.definition.options[opt.BOUNDED_MODE] == opt.UNBOUNDED for t in tables):
        return False
    providers = {operator.detail for operator in read_plan(query).walk() if not operator.children}
    return providers <= {t.provider for t in tables}


def stop_at_end(query: StreamingQuery) -> None:
    """Stop a query when it has read all its streams to their end offsets, which may not exist yet.

    (If they exist, use Trigger.AvailableNow instead.)
    """
    threading.Thread(target=_wait_and_stop, args=(query,), name=f"end of {query.name}", daemon=True).start()


def stop_queries_at_end(spark: SparkSession) -> None:
    """From now on, stop each query of a session that reads only bounded streams when it has read them to their ends.

    A Spark source cannot report its end, so a listener checks the progress. Queries of a Connect session are not
    stopped.
    """
    if not is_connect(spark) and not spark.__dict__.get(_ATTRIBUTE):
        spark.__dict__[_ATTRIBUTE] = True
        add_listener(spark, _EndListener(spark))


class _EndListener(StreamingQueryListener):
    """Stops queries that have reached their end offsets."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._stopping: set[str] = set()  # run ids

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Ignore the event: nothing was read yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Stop the query if this batch was its last."""
        if _is_at_end(event.progress):
            self._stop(str(event.progress.id), str(event.progress.runId))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Stop a query that was restarted at its end, so that it has no batch."""
        query = self._spark.streams.get(str(event.id))
        if query is not None and _is_at_end(query.lastProgress):
            self._stop(str(event.id), str(event.runId))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Forget the run."""
        self._stopping.discard(str(event.runId))

    def _stop(self, id: str, run_id: str) -> None:
        """Stop a query, unless the event is of an earlier run: events arrive late."""
        query = self._spark.streams.get(id)
        if query is not None and str(query.runId) == run_id and run_id not in self._stopping:
            self._stopping.add(run_id)
            # Not on the listener's thread: query.stop() waits until listeners were notified, so it would deadlock here.
            threading.Thread(target=_stop_query, args=(query,), name=f"end of {query.name}", daemon=True).start()


def _wait_and_stop(query: StreamingQuery) -> None:
    with contextlib.suppress(StreamingQueryException):  # query.exception() has the failure
        while not query.awaitTermination(_POLL_SECONDS):
            if _is_at_end(query.lastProgress):
                _stop_query(query)
                return


def _stop_query(query: StreamingQuery) -> None:
    """Stop a query that has read everything, after the no-data batch that may close its last windows."""
    with contextlib.suppress(StreamingQueryException):  # query.exception() has the failure
        if (progress := query.lastProgress) is not None and "watermark" in (progress.eventTime or {}):
            query.processAllAvailable()
        query.stop()


def _is_at_end(progress: StreamingQueryProgress | None) -> bool:
    # in PySpark 4.1, the offsets of the progress object are not JSON, but Python literals
    sources = json.loads(progress.json)["sources"] if progress is not None else []
    return bool(sources) and all(is_end_reached(source.get("endOffset")) for source in sources)


def is_end_reached(end_offset: Any) -> bool:
    """Return whether a source's end offset in Spark's progress is the end of a bounded table of Kafka or datagen.

    Args:
        end_offset: the offset as JSON, parsed or as a string.
    """
    parsed = parse_offset(end_offset)
    if isinstance(parsed, dict) and parsed.keys() == {"run", "row", "end"}:  # of a datagen table
        return parsed["end"] is not None and bool(parsed["row"] >= parsed["end"])
    try:
        offset = from_json(parsed)
    except CheckpointError:  # of another source
        return False
    return bool(offset.stops) and all(offset.offsets.get(p, stop) >= stop for p, stop in offset.stops.items())
