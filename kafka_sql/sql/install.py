"""``kafka_sql.install()``: enable every Spark session of this process, for programs that create their own sessions."""

from __future__ import annotations

import functools
import threading
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.sql.session import SPARK_SQL, enable

_ENABLE_LOCK = threading.Lock()


def install() -> None:
    """Enable every classic SparkSession of this process, existing ones included, on its first ``sql()``.

    For programs that create their own session, such as dbt, so that ``enable(spark)`` cannot be called. Further calls
    have no effect. Spark Connect sessions are not changed.
    """
    spark_sql = SparkSession.sql
    if hasattr(spark_sql, SPARK_SQL):
        return

    @functools.wraps(spark_sql)
    def sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        with _ENABLE_LOCK:  # dbt runs its first statements on several threads
            enable(self)
        return self.sql(sqlQuery, args, **kwargs)  # now the session's own attribute, which hides this method

    setattr(sql, SPARK_SQL, spark_sql)
    SparkSession.sql = sql  # type: ignore[method-assign]
