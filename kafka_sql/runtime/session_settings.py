"""Change settings of a session while a query starts. A streaming query keeps those that its session had then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def changed_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings for a ``with`` block, and restore them at its end."""
    previous = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        restore_settings(spark, previous)


def restore_settings(spark: SparkSession, previous: Mapping[str, str | None]) -> None:
    """Set settings to previous values; None for one that was not set."""
    for key, value in previous.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
