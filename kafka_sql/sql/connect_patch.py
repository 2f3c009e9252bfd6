"""What a Spark Connect server sends beside a command's results."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from kafka_sql.runtime.spark_context import spark_context

_ACCUMULATORS = "__python_accumulator__"
_COMMAND = "execute_command_as_iterator"
_MARK = "_kafka_sql"


def ignore_accumulators(spark: SparkSession) -> None:
    """Let Connect clients leave out the accumulators of Python workers where they wait for the events of a command.

    Python data sources send empty ones, and a client that follows a pipeline or a query listener takes them for an
    unknown response and fails (SPARK-59135, in Spark 4.3.0).
    """
    if spark_context(spark) is not None:  # classic
        return
    kind = type(getattr(spark, "client", None))
    plain = getattr(kind, _COMMAND, None)
    if plain is None or hasattr(plain, _MARK):
        return

    @functools.wraps(plain)
    def command(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        events: Iterator[Any] = plain(_Client(self), *args, **kwargs)
        return events

    setattr(command, _MARK, True)
    setattr(kind, _COMMAND, command)


class _Client:
    """A client as it is, without the accumulators among its responses."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def _execute_and_fetch_as_iterator(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        responses = self._client._execute_and_fetch_as_iterator(*args, **kwargs)
        return (r for r in responses if getattr(r, "name", None) != _ACCUMULATORS)
