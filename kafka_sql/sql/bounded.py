"""Continuous queries that end by themselves, because every stream that they read is bounded."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.catalog.tables import Entry
from kafka_sql.options import connector as opt
from kafka_sql.source.checkpoint import from_json

_LOOK: Final = 1  # second between two looks at a query's progress
_ANALYZED: Final = re.compile(r"== Analyzed Logical Plan ==\n(.*?)\n== ", re.DOTALL)
_STREAM: Final = re.compile(r"StreamingRelation\S* ([^,\s]+)")


def all_bounded(streamed: Sequence[Entry], explain: Callable[[], str]) -> bool:
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


def _watch(query: StreamingQuery) -> None:
    try:
        while not query.awaitTermination(_LOOK):
            progress = query.lastProgress
            if progress is not None and all(reached(source.endOffset) for source in progress.sources):
                query.stop()
                return
    except StreamingQueryException:
        return  # its failure stands in the query itself, where SHOW JOBS and its owner find it


def reached(end: str | None) -> bool:
    """Whether an offset of our source, as Spark shows it, is the end of its range."""
    if not end or end == "null":
        return False
    progress = from_json(json.loads(end))
    return bool(progress.stops) and all(progress.offsets.get(p, stop) >= stop for p, stop in progress.stops.items())
