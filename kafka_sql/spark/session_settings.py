"""Change and check settings of a session while a query starts, which keeps those that its session had then."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.errors import InvalidOptionError
from kafka_sql.runtime.task import SESSION_TIME_ZONE

# Computed columns are Spark expressions that have Flink's values whatever the session's settings are. Only these
# settings would change a value, or the meaning of a column's name.
_NEEDED_FOR_COMPUTED_COLUMNS: Final = {
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.interval.enabled": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variant.allowDuplicateKeys": "false",
}
# Spark's views, such as tables with computed columns, keep these settings of CREATE. Of those that change the values of
# Spark's expressions, they are the usual ones.
_KEPT_BY_VIEWS: Final = (
    SESSION_TIME_ZONE,
    "spark.sql.ansi.enabled",
    "spark.sql.timestampType",
    "spark.sql.parser.escapedStringLiterals",
)
_ATTRIBUTE: Final = "_kafka_sql_settings"  # of a session
_LOCK: Final = threading.Lock()


def settings_kept_by_views(spark: SparkSession) -> dict[str, str]:
    """Return the session's settings that a view keeps for its expressions."""
    return {key: str(spark.conf.get(key)) for key in _KEPT_BY_VIEWS}


def check_settings_of_computed_columns(spark: SparkSession, table: str) -> None:
    """Check the settings that computed columns need when they are analyzed.

    Raises:
        InvalidOptionError: a setting has another value than Spark's default.
    """
    for key, needed in _NEEDED_FOR_COMPUTED_COLUMNS.items():
        value = spark.conf.get(key, needed)
        if value != needed:
            raise InvalidOptionError(
                f"Table '{table}': computed columns need {key} = {needed}, Spark's default, but it is {value}. "
                f"RESET {key}.",
                option=key,
                table=table,
            )


def check_same_settings(spark: SparkSession, at_creation: Mapping[str, str], table: str) -> None:
    """Check that the session has the settings of a table's view, for computed columns of Spark's expressions.

    Raises:
        InvalidOptionError: a setting differs.
    """
    for key, value in settings_kept_by_views(spark).items():
        if value != at_creation[key]:
            raise InvalidOptionError(
                f"Table '{table}': Spark's expressions in computed columns have the settings of CREATE TABLE, "
                f"{key} = {at_creation[key]}, but the session has {value}. SET the same value, or run CREATE OR "
                "REPLACE TABLE.",
                option=key,
                table=table,
            )


@contextmanager
def changed_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings for a ``with`` block, and restore them at its end.

    Blocks of several threads may overlap, with the same values. The last one that changed a setting restores it.
    """
    changes = _changes(spark)
    with _LOCK:
        for key, value in settings.items():
            previous, count = changes.get(key) or (spark.conf.get(key, None), 0)
            changes[key] = previous, count + 1
            spark.conf.set(key, value)
    try:
        yield
    finally:
        with _LOCK:
            for key in settings:
                previous, count = changes.pop(key)
                if count > 1:
                    changes[key] = previous, count - 1
                elif previous is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, previous)


def user_setting(spark: SparkSession, key: str) -> str | None:
    """Return a setting as the user set it, also within ``changed_settings``; None if it is not set."""
    with _LOCK:
        changed = _changes(spark).get(key)
        return changed[0] if changed is not None else spark.conf.get(key, None)


def _changes(spark: SparkSession) -> dict[str, tuple[str | None, int]]:
    """Return the changed settings of a session: the value to restore, and how many blocks have changed it."""
    changes: dict[str, tuple[str | None, int]] = spark.__dict__.setdefault(_ATTRIBUTE, {})
    return changes
