"""Look up what Spark passes to a task in local properties: the time zone, the streaming query and the micro-batch."""

from __future__ import annotations

from typing import Final

from pyspark import TaskContext

from kafka_sql.errors import InvalidOptionError
from kafka_sql.runtime.continuous_task import set_continuous_task

SESSION_TIME_ZONE: Final = "spark.sql.session.timeZone"
_default_zone: str | None = None  # a worker process runs one task at a time


def start_task(time_zone: str | None = None) -> None:
    """Make ``is_continuous_task`` return whether the task that starts now is in a micro-batch.

    Args:
        time_zone: the session's, in case that Spark does not pass it.
    """
    global _default_zone
    set_continuous_task(is_in_micro_batch())
    _default_zone = time_zone


def is_in_micro_batch() -> bool:
    """Return whether this is a task of a micro-batch, even if it reads or writes a table as a batch."""
    return _property("streaming.sql.batchId") is not None


def query_id() -> str | None:
    """Return the id of the streaming query of the current task; None outside of one."""
    return _property("sql.streaming.queryId") or None


def query_and_batch() -> tuple[str | None, int | None]:
    """Return the query id and batch id of the current task; None for both outside of a streaming query."""
    query, batch = query_id(), _property("streaming.sql.batchId")
    return (query, int(batch)) if query and batch else (None, None)


def session_time_zone() -> str:
    """Return the time zone of the session whose query the task belongs to.

    Spark passes to the tasks of a query the settings of the session that were set when the query started. To the tasks
    of an RDD, such as ``df.rdd`` and ``df.toLocalIterator()``, it passes none.

    Raises:
        InvalidOptionError: neither Spark nor the table's data source has the time zone.
    """
    zone = _property(SESSION_TIME_ZONE) or _default_zone
    if zone is None:
        raise InvalidOptionError(
            f"A TIMESTAMP column FROM 'timestamp' needs the session's time zone. Set '{SESSION_TIME_ZONE}', or declare "
            "the column TIMESTAMP_LTZ(3).",
            option=SESSION_TIME_ZONE,
        )
    return zone


def _property(name: str) -> str | None:
    context = TaskContext.get()
    return context.getLocalProperty(name) if context is not None else None
