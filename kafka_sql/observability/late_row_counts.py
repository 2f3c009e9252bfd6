"""Count the rows that the aggregates of a micro-batch drop because they are late.

Spark counts them after each task has aggregated its rows. An optimizer rule in Java adds a filter below the aggregate
that counts the rows themselves (``CountLateRows``). Needs a classic session, whose driver can load its classes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_sql.observability.metrics import late_records_dropped
from kafka_sql.spark.context import is_pipeline, spark_context
from kafka_sql.spark.jar import PACKAGE, add_jar, java_classes
from kafka_sql.spark.jvm import JavaError
from kafka_sql.spark.planner import add_optimizer_rule

_LOG = logging.getLogger("kafka_sql.observability")
_RULE: Final = f"{PACKAGE}.observability.CountLateRows"
_AGGREGATES: Final = ("stateStoreSave", "sessionWindowStateStoreSaveExec")  # Spark's names of its operators


def count_late_rows(spark: SparkSession) -> None:
    """From now on, count the late rows of the session's new streams. Repeated calls have no effect."""
    context: Any = spark_context(spark)
    if context is None or is_pipeline() or add_jar(context) is None:
        return
    try:
        add_optimizer_rule(spark, _RULE, java_classes(context).observability.CountLateRows)
    except JavaError:  # Spark internals, which may differ between versions
        _LOG.debug("late rows are counted by Spark", exc_info=True)


def late_rows(spark: SparkSession, progress: Mapping[str, Any]) -> int:
    """Return how many rows a micro-batch has dropped. A row of windows that overlap counts once for each of them.

    If the rows cannot be counted, it is Spark's number, in which the rows of a group in a task are one.

    Args:
        progress: the JSON of a StreamingQueryProgress.
    """
    dropped = late_records_dropped(progress)
    aggregates = [o for o in progress.get("stateOperators", ()) if o.get("operatorName") in _AGGREGATES]
    by_aggregates = late_records_dropped({"stateOperators": aggregates})
    if by_aggregates:
        counted = _counted(spark, str(progress["runId"]), int(progress["batchId"]))
        dropped += max(counted - by_aggregates, 0)
    return dropped


def _counted(spark: SparkSession, run_id: str, batch: int) -> int:
    """Return how many late rows the aggregates of a micro-batch received; -1 if they were not counted."""
    context: Any = spark_context(spark)
    try:
        return int(java_classes(context).observability.LateRowCounter.count(run_id, batch))
    except (JavaError, TypeError, AttributeError):  # the class was not loaded, or the session is one of Connect
        return -1
