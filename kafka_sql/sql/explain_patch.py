"""Make ``DataFrame.explain()`` and ``StreamingQuery.explain()`` name tables as declared, as EXPLAIN does."""

from __future__ import annotations

import contextlib
import functools
import io
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_sql.catalog.storage_names import show_table_names
from kafka_sql.spark.context import spark_context

_MARK = "_kafka_sql"


def patch_explain(spark: SparkSession) -> None:
    """Patch the classes of this process that are of the session's type, classic or Connect."""
    if spark_context(spark) is not None:
        from pyspark.sql.classic.dataframe import DataFrame

        _patch(DataFrame)
        _patch(StreamingQuery)
        return
    from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
    from pyspark.sql.connect.streaming.query import StreamingQuery as ConnectQuery

    _patch(ConnectDataFrame)
    _patch(ConnectQuery)


def _patch(owner: Any) -> None:
    """Patch ``explain``, which prints a plan."""
    original = owner.explain
    if hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def explain(*args: Any, **kwargs: Any) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as plan:
            original(*args, **kwargs)
        print(show_table_names(plan.getvalue()), end="")

    setattr(explain, _MARK, True)
    owner.explain = explain
