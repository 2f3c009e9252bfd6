"""Work around SPARK-59135: Spark Connect clients fail on the accumulators of Python workers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from kafka_sql.spark.context import spark_context

_ACCUMULATORS = "__python_accumulator__"
_EXECUTE_COMMAND = "execute_command_as_iterator"
_MARK = "_kafka_sql"


def ignore_accumulators(spark: SparkSession) -> None:
    """Make a Connect client ignore accumulators of Python workers among the responses to a command.

    Python data sources send empty accumulators. A client that waits for events of a pipeline or a query listener fails
    on them as an unknown response (SPARK-59135, in Spark 4.3.0).
    """
    if spark_context(spark) is not None:  # classic
        return
    client_class = type(getattr(spark, "client", None))
    original = getattr(client_class, _EXECUTE_COMMAND, None)
    if original is None or hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def execute_command(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        events: Iterator[Any] = original(_Client(self), *args, **kwargs)
        return events

    setattr(execute_command, _MARK, True)
    setattr(client_class, _EXECUTE_COMMAND, execute_command)


class _Client:
    """A Connect client without the accumulators among its responses."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def _execute_and_fetch_as_iterator(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        responses = self._client._execute_and_fetch_as_iterator(*args, **kwargs)
        return (r for r in responses if getattr(r, "name", None) != _ACCUMULATORS)
