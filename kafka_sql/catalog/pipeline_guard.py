"""What this package asks of Spark for itself, apart from what the calling thread is about."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from pyspark.sql import SparkSession

from kafka_sql.runtime.spark_context import spark_context

_P = ParamSpec("_P")
_R = TypeVar("_R")


def apart(spark: SparkSession, function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, which also works where a Declarative Pipeline loads its Python files.

    A pipeline marks its thread's requests to the Connect server, which then refuses CREATE TABLE and whatever has a
    result: all is to be part of the pipeline's graph. The tables of topics are not, so they are declared and looked up
    from a thread that has no mark.
    """
    if spark_context(spark) is not None:  # classic: no server, no mark
        return function

    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(function, *args, **kwargs).result()

    return called
