"""``kafka_sql.install()``: enable every Spark session of this process, for programs that create their own sessions."""

from __future__ import annotations

import threading

from pyspark.sql import SparkSession

from kafka_sql.spark.patches import patch_sql_of_all_sessions
from kafka_sql.sql.session.enable import enable

_ENABLE_LOCK = threading.Lock()


def install() -> None:
    """Enable every classic SparkSession of this process, existing ones included, on its first ``sql()``.

    For programs that create their own session, such as dbt, so that ``enable(spark)`` cannot be called. Further calls
    have no effect. Spark Connect sessions are not changed.
    """
    patch_sql_of_all_sessions(_enable)


def _enable(spark: SparkSession) -> None:
    with _ENABLE_LOCK:  # dbt runs its first statements on several threads
        enable(spark)
