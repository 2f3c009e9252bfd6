"""Build calls of the Java functions that read, write, convert and truncate timestamps.

Spark's casts, and its functions of a TIMESTAMP_LTZ, use the time zone at the analysis of their text. For the view that
is a table with computed columns, this is the time zone of CREATE TABLE, which Spark stores. ``current_timezone()`` is
evaluated when the query runs.
"""

from __future__ import annotations

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.functions.signature import call_java
from kafka_sql.sql.expressions.typed import TypedExpression, value_family
from kafka_sql.sql.grammar.types import SPARK_PRECISION

SESSION_ZONE = "current_timezone()"
UTC = "'UTC'"


def to_local(instant: str, zone: str = SESSION_ZONE) -> str:
    """Return SQL for the TIMESTAMP of a TIMESTAMP_LTZ in a time zone."""
    return call_java("to_local", instant, zone)


def to_instant(local: str, zone: str = SESSION_ZONE) -> str:
    """Return SQL for the TIMESTAMP_LTZ of a TIMESTAMP in a time zone.

    If clocks are set back, it is the earlier one of two. A time that clocks skip is later by the skipped time.
    """
    return call_java("to_instant", local, zone)


def local_time(value: TypedExpression) -> str:
    """Return SQL for a timestamp as a TIMESTAMP: in the session's time zone if it is a TIMESTAMP_LTZ."""
    return to_local(value.sql) if value_family(value) == "timestamp_ltz" else value.sql


def format_timestamp(local: str, precision: int) -> str:
    """Return a TIMESTAMP as a string like Flink's CAST: always with ``precision`` fractional digits."""
    digits = min(precision, SPARK_PRECISION)
    pattern = "uuuu-MM-dd HH:mm:ss" + ("." + "S" * digits if digits else "")
    return call_java("date_format", local, string_constant(pattern))


def parse_timestamp(sql: str, precision: int, error: str | None) -> str:
    """Parse a string as a TIMESTAMP, like Flink's CAST and TO_TIMESTAMP without a pattern.

    Args:
        error: the error for invalid text; None to return NULL.
    """
    return call_java("to_timestamp", sql, str(precision), "NULL" if error is None else string_constant(error))


def truncate_fraction(local: str, precision: int) -> str:
    """Truncate a TIMESTAMP to ``precision`` fractional digits."""
    return call_java("truncate", local, str(precision))


def reject_before_1970(local: str, function: str, noun: str = "timestamp") -> str:
    """Return a TIMESTAMP, but raise an error if it is before 1970, because Flink truncates it toward zero."""
    return call_java("since_1970", local, string_constant(f"{function} of a {noun}"))
