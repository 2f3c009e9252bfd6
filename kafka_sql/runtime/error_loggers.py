"""Disable what PySpark prints about errors that a shell prints itself, or that are none."""

from __future__ import annotations

import logging
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark import accumulators
from pyspark.logger import PySparkLogger

_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")


_QUIET: Final = threading.local()


@contextmanager
def errors_are_answers() -> Iterator[None]:
    """Print no error of Spark in a ``with`` block of this thread: whether there is one is what the block finds out."""
    for name in _LOGGERS:
        logger = PySparkLogger.getLogger(name)
        if _is_printed not in logger.filters:
            logger.addFilter(_is_printed)
    before = getattr(_QUIET, "is_quiet", False)
    _QUIET.is_quiet = True
    try:
        yield
    finally:
        _QUIET.is_quiet = before


def _is_printed(_: logging.LogRecord) -> bool:
    return not getattr(_QUIET, "is_quiet", False)


def disable_error_loggers() -> None:
    """Disable the loggers that print each error as JSON with its stack trace, because a shell prints errors itself.

    Also disable the stack trace that PySpark prints if Java closes a connection for accumulators, as it does when it
    stops a continuous query. Java opens another one.
    """
    for name in _LOGGERS:
        logging.getLogger(name).disabled = True
    for value in vars(accumulators).values():
        if isinstance(value, type) and issubclass(value, socketserver.BaseServer):
            value.handle_error = _ignore_closed_connection  # type: ignore[method-assign, assignment]


def _ignore_closed_connection(server: socketserver.BaseServer, request: Any, client_address: Any) -> None:
    if not isinstance(sys.exc_info()[1], EOFError):
        socketserver.BaseServer.handle_error(server, request, client_address)
