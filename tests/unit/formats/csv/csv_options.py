"""Create the options of CSV tables."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_sql.formats.csv.options import CSV_OPTIONS
from kafka_sql.options import Options


def options(option_values: Mapping[str, str]) -> Options:
    """Return validated options, given without ``csv.``."""
    return Options(CSV_OPTIONS, {f"csv.{key}": value for key, value in option_values.items()})
