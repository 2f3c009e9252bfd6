"""Convert between TIMESTAMP_LTZ and TIMESTAMP in the time zone of the session that runs the query.

Spark's casts, and its functions of a TIMESTAMP_LTZ, use the time zone at the analysis of their text. For the view that
is a table with computed columns, this is the time zone of CREATE TABLE, which Spark stores. ``current_timezone()`` is
evaluated when the query runs.
"""

from __future__ import annotations

from typing import Final

EPOCH: Final = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def to_local(instant: str) -> str:
    """Return SQL for the TIMESTAMP of a TIMESTAMP_LTZ in the session's time zone."""
    return to_utc(f"from_utc_timestamp({instant}, current_timezone())")


def to_utc(instant: str) -> str:
    """Return SQL for the TIMESTAMP of a TIMESTAMP_LTZ in UTC."""
    return f"({EPOCH} + INTERVAL '0.000001' SECOND * unix_micros({instant}))"


def to_instant(local: str) -> str:
    """Return SQL for the TIMESTAMP_LTZ of a TIMESTAMP in the session's time zone.

    If clocks are set back, it is the earlier one of two. A time that clocks skip is later by the skipped time.
    """
    return f"to_utc_timestamp({to_utc_instant(local)}, current_timezone())"


def to_utc_instant(local: str) -> str:
    """Return SQL for the TIMESTAMP_LTZ of a TIMESTAMP in UTC."""
    seconds = f"CAST(CAST(({local} - {EPOCH}) AS INTERVAL SECOND) AS DECIMAL(20,6))"
    return f"timestamp_micros(CAST({seconds} * 1000000 AS BIGINT))"
