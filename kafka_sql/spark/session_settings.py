"""Change and check settings of a session while a query starts, which keeps those that its session had then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.errors import InvalidOptionError
from kafka_sql.runtime.time_zone import SESSION_TIME_ZONE

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
    """Check that the session has the settings that a table's view keeps, for computed columns of Spark's expressions.

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
