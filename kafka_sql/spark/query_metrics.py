"""Read metrics of a micro-batch that Spark does not report."""

from __future__ import annotations

from typing import Final

from pyspark.sql.streaming import StreamingQuery

from kafka_sql.spark.internal import Internal, JavaClass, Text
from kafka_sql.spark.jvm import java_query

_RUNTIME = "org.apache.spark.sql.execution.streaming.runtime"
_BYTES = "numBytesIn counts the bytes that a micro-batch reads"
_NONE = "numBytesIn is missing"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(f"{_RUNTIME}.StreamExecution", _BYTES, _NONE, members=("lastExecution/0",)),
    JavaClass(f"{_RUNTIME}.IncrementalExecution", _BYTES, _NONE, members=("currentBatchId/0",)),
    JavaClass("org.apache.spark.sql.execution.SparkPlan", _BYTES, _NONE, members=("collectLeaves/0", "metrics/0")),
    Text("pythonDataReceived", _BYTES, _NONE, source="org.apache.spark.sql.execution.python.PythonSQLMetrics$"),
)


def bytes_read(query: StreamingQuery, batch: int) -> int | None:
    """Return the size of the columns that a batch received from Python readers; None if it is not the last batch.

    Also None for a Connect client.

    Raises:
        JavaError, TypeError: this version of Spark has other metrics.
    """
    handle = java_query(query)
    execution = handle.streamingQuery().lastExecution() if handle is not None else None
    if execution is None or execution.currentBatchId() != batch:
        return None
    leaves, total = execution.executedPlan().collectLeaves().iterator(), 0
    while leaves.hasNext():
        metric = leaves.next().metrics().get("pythonDataReceived")
        total += metric.get().value() if metric.isDefined() else 0
    return int(total)
