"""Limit the Arrow batches in which Spark passes an INSERT's rows to Python to a number of rows, not of bytes.

Spark has both limits. To apply the one in bytes, it sums the buffers of all columns after each row, which takes 42 % of
the JVM's time in an INSERT of nine columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.spark.session_settings import changed_settings, user_setting

_MAX_BYTES_CONF: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_MAX_ROWS_CONF: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNBOUNDED: Final = 2**31 - 1  # Spark's value for no limit, with which it does not sum
_MAX_ROWS: Final = 8192  # more rows are not faster, and need more memory if records are large


@contextmanager
def limit_batches_by_rows(spark: SparkSession) -> Iterator[None]:
    """Set the session's limits for a ``with`` block. If the user set a byte limit or a smaller row limit, it stays.

    A streaming query keeps the settings that its session had when the query started.
    """
    with changed_settings(spark, _limits(spark)):
        yield


def _limits(spark: SparkSession) -> dict[str, str]:
    """Return the limits to set."""
    if user_setting(spark, _MAX_BYTES_CONF) is not None:
        return {}
    rows = user_setting(spark, _MAX_ROWS_CONF)
    limits = {_MAX_BYTES_CONF: str(_UNBOUNDED)}
    if rows is None or not 0 < int(rows) <= _MAX_ROWS:  # Spark treats 0 and less as no limit
        limits[_MAX_ROWS_CONF] = str(_MAX_ROWS)
    return limits
