"""The size of the batches in which Spark hands an INSERT's rows to Python: bounded by rows, not by bytes.

Since 4.1 Spark bounds them by bytes, too, and for that adds up the buffers of all columns after each row: 42 % of what
its JVM did in an INSERT of nine columns. Up to 4.0 it bounded them by rows alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNBOUNDED: Final = 2**31 - 1  # Spark's word for it: only then it does not add up
_MOST_ROWS: Final = 8192  # more make nothing faster, and take as much more memory where records are large
_ATTRIBUTE: Final = "_kafka_sql_batch_size"
_LOCK: Final = threading.Lock()


@contextmanager
def limit_batches_by_rows(spark: SparkSession) -> Iterator[None]:
    """For the time of a ``with`` block; a session whose user has set the bound of bytes keeps it.

    A streaming query keeps the settings that its session had when it started. A number of rows that the user has set
    and that is smaller stays.
    """
    with _LOCK:
        running: list[dict[str, str | None]] = spark.__dict__.setdefault(_ATTRIBUTE, [])
        running.append(_set(spark) if not running else running[-1])  # the first one's, which the last one restores
    try:
        yield
    finally:
        with _LOCK:
            before = running.pop()
            if not running:
                _restore(spark, before)


def _set(spark: SparkSession) -> dict[str, str | None]:
    """Set the bounds; what they were, None where nobody had set them."""
    if spark.conf.get(_BYTES, None) is not None:
        return {}
    rows = spark.conf.get(_ROWS, None)
    spark.conf.set(_BYTES, str(_UNBOUNDED))
    if rows is None or not 0 < int(rows) <= _MOST_ROWS:  # Spark takes 0 and less for no bound
        spark.conf.set(_ROWS, str(_MOST_ROWS))
    return {_BYTES: None, _ROWS: rows}


def _restore(spark: SparkSession, before: dict[str, str | None]) -> None:
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
