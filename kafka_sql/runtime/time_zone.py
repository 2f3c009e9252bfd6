"""The session's time zone, inside a task."""

from __future__ import annotations

from pyspark import TaskContext

from kafka_sql.errors import InvalidOptionError

SESSION_ZONE = "spark.sql.session.timeZone"


def session_zone() -> str:
    """The time zone that the query's session had when the query started.

    Raises:
        InvalidOptionError: Spark handed none over: it hands over only settings that were set.
    """
    context = TaskContext.get()
    zone = context.getLocalProperty(SESSION_ZONE) if context is not None else None
    if zone is None:
        raise InvalidOptionError(
            f"A column that is local time FROM 'timestamp' needs the session's time zone. Set '{SESSION_ZONE}', or "
            "declare the column TIMESTAMP_LTZ(3)."
        )
    return zone
