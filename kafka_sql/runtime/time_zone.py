"""Look up the session's time zone inside a task."""

from __future__ import annotations

from typing import Final

from pyspark import TaskContext

from kafka_sql.errors import InvalidOptionError

SESSION_TIME_ZONE: Final = "spark.sql.session.timeZone"

_default: str | None = None  # a worker process runs one task at a time


def set_default_time_zone(zone: str | None) -> None:
    """Set the time zone for the task that starts now, in case that Spark does not pass it."""
    global _default
    _default = zone


def session_time_zone() -> str:
    """Return the time zone of the session whose query the task belongs to.

    Spark passes to the tasks of a query the settings of the session that were set when the query started. To the tasks
    of an RDD, such as ``df.rdd`` and ``df.toLocalIterator()``, it passes none.

    Raises:
        InvalidOptionError: neither Spark nor the table's data source has the time zone.
    """
    context = TaskContext.get()
    zone = context.getLocalProperty(SESSION_TIME_ZONE) if context is not None else None
    zone = zone or _default
    if zone is None:
        raise InvalidOptionError(
            f"A TIMESTAMP column FROM 'timestamp' needs the session's time zone. Set '{SESSION_TIME_ZONE}', or declare "
            "the column TIMESTAMP_LTZ(3).",
            option=SESSION_TIME_ZONE,
        )
    return zone
