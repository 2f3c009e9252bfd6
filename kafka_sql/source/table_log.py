"""Log a warning about a table, which structured logs have as a field."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("kafka_sql.source")


def warn(table: str, message: str, *arguments: object, **fields: str | int) -> None:
    """Log a warning.

    Args:
        message: a format string, such as '%d records were skipped'; the table's name is put before it.
        fields: more fields of structured logs.
    """
    _LOG.warning(f"table '%s': {message}", table, *arguments, extra={"table": table, **fields}, stacklevel=2)
