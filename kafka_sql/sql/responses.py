"""What a Spark Connect server sends beside a command's results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

_ACCUMULATORS = "__python_accumulator__"
_ITERATOR = "_execute_and_fetch_as_iterator"


def without_accumulators(spark: SparkSession) -> None:
    """Let a Connect client leave out the accumulators of Python workers, once it has seen to them.

    Python data sources send empty ones, and a client that waits for the events of a pipeline or of a query listener
    takes them for an unknown response and fails (SPARK-59135, in Spark 4.3.0).
    """
    client = getattr(spark, "client", None) if spark.__dict__.get("_sc") is None else None
    if not hasattr(client, _ITERATOR):
        return
    plain = getattr(client, _ITERATOR)

    def iterator(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with contextlib.closing(plain(*args, **kwargs)) as responses:
            for response in responses:
                if getattr(response, "name", None) != _ACCUMULATORS:
                    yield response

    setattr(client, _ITERATOR, iterator)
