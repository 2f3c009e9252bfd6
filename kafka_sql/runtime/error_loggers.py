"""Disable PySpark's loggers of errors."""

from __future__ import annotations

import logging
from typing import Final

_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")


def disable_error_loggers() -> None:
    """Disable the loggers that print each error as JSON with its stack trace, because a shell prints errors itself."""
    for name in _LOGGERS:
        logging.getLogger(name).disabled = True
