"""Look up the session's time zone inside a task."""

from __future__ import annotations

from pyspark import TaskContext

from kafka_sql.errors import InvalidOptionError

SESSION_TIME_ZONE = "spark.sql.session.timeZone"


def session_time_zone() -> str:
    """Return the session's time zone at the start of the query.

    Raises:
        InvalidOptionError: the time zone is not among the task's properties. Spark only passes settings that were set.
    """
    context = TaskContext.get()
    zone = context.getLocalProperty(SESSION_TIME_ZONE) if context is not None else None
    if zone is None:
        raise InvalidOptionError(
            f"A TIMESTAMP column FROM 'timestamp' needs the session's time zone. Set '{SESSION_TIME_ZONE}', or declare "
            "the column TIMESTAMP_LTZ(3).",
            option=SESSION_TIME_ZONE,
        )
    return zone
