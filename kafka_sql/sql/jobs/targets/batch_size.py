"""Limit the Arrow batches in which Spark passes an INSERT's rows to Python to a number of rows, not of bytes.

Spark has both limits. To apply the one in bytes, it sums the buffers of all columns after each row, which takes 42 % of
the JVM's time in an INSERT of nine columns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.spark.session_settings import restore_settings

_MAX_BYTES_CONF: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_MAX_ROWS_CONF: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNBOUNDED: Final = 2**31 - 1  # Spark's value for no limit, with which it does not sum
_MAX_ROWS: Final = 8192  # more rows are not faster, and need more memory if records are large
_ATTRIBUTE: Final = "_kafka_sql_batch_size"
_LOCK: Final = threading.Lock()


@contextmanager
def limit_batches_by_rows(spark: SparkSession) -> Iterator[None]:
    """Set the session's limits for a ``with`` block. If the user set a byte limit or a smaller row limit, it stays.

    A streaming query keeps the settings that its session had when the query started.
    """
    with _LOCK:
        # Blocks of several threads overlap. Each one adds the settings from before the first; the last one restores
        # them.
        previous_limits: list[dict[str, str | None]] = spark.__dict__.setdefault(_ATTRIBUTE, [])
        previous_limits.append(_set_limits(spark) if not previous_limits else previous_limits[-1])
    try:
        yield
    finally:
        with _LOCK:
            limits = previous_limits.pop()
            if not previous_limits:
                restore_settings(spark, limits)


def _set_limits(spark: SparkSession) -> dict[str, str | None]:
    """Set the limits and return the previous ones; None for a limit that was not set."""
    if spark.conf.get(_MAX_BYTES_CONF, None) is not None:
        return {}
    rows = spark.conf.get(_MAX_ROWS_CONF, None)
    spark.conf.set(_MAX_BYTES_CONF, str(_UNBOUNDED))
    if rows is None or not 0 < int(rows) <= _MAX_ROWS:  # Spark treats 0 and less as no limit
        spark.conf.set(_MAX_ROWS_CONF, str(_MAX_ROWS))
    return {_MAX_BYTES_CONF: None, _MAX_ROWS_CONF: rows}
