"""Every session of this process takes Flink's statements, for programs that make their session themselves."""

from __future__ import annotations

import functools
import threading
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.sql.session import SPARK_SQL, enable

_FIRST = threading.Lock()


def install() -> None:
    """Let every classic SparkSession of this process, older ones too, take Flink's statements from its first ``sql()``.

    For programs that make the session themselves and leave no place for ``enable(spark)``, such as dbt. Calling it
    again changes nothing. Sessions of Spark Connect are left as they are.
    """
    plain = SparkSession.sql
    if hasattr(plain, SPARK_SQL):
        return

    @functools.wraps(plain)
    def sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        with _FIRST:  # dbt's first statements come from several threads
            enable(self)
        return self.sql(sqlQuery, args, **kwargs)  # the session's own from here on, which stands before this one

    setattr(sql, SPARK_SQL, plain)
    SparkSession.sql = sql  # type: ignore[method-assign]
