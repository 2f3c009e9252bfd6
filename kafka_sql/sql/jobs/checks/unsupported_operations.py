"""Reject continuous queries with operations that Spark's streams do not support, in one line that names an alternative.

Spark's own error has the plan of the query.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.catalyst import analyzed_plan
from kafka_sql.spark.context import spark_context

_OUTPUT_MODE: Final = "STREAMING_OUTPUT_MODE"  # the start of conditions: the query may run in another mode
_DISTINCT_COUNT: Final = re.compile(r"count\(distinct (\w+)#\d+L?\)")  # in a plan
_IN_STREAMS: Final = "is not supported in a continuous query"
_JOIN_ADVICE: Final = (
    "of streams needs a WATERMARK in both tables and a range of their event times in ON, such as "
    "a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts"
)
# the start of Spark's message, and what to write instead
_ALTERNATIVES: Final = {
    "Sorting is not supported": f"ORDER BY {_IN_STREAMS}, which has no last row. Sort the rows when the table is read. "
    "For a Top-N, write ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) <= n",
    "Offset is not supported": f"OFFSET {_IN_STREAMS}. Skip the rows when the table is read",
    "Except on a streaming": f"EXCEPT {_IN_STREAMS}. Write a LEFT JOIN, and filter the rows without a partner when the "
    "table is read",
    "Intersect of streaming": f"INTERSECT {_IN_STREAMS}. Write a JOIN",
    "Stream-stream LeftSemi join": f"a LEFT SEMI JOIN {_JOIN_ADVICE}",
    "Stream-stream LeftOuter join": f"a LEFT JOIN {_JOIN_ADVICE}",
    "Stream-stream RightOuter join": f"a RIGHT JOIN {_JOIN_ADVICE}",
    "Stream-stream FullOuter join": f"a FULL OUTER JOIN {_JOIN_ADVICE}",
}


def check_operations(rows: DataFrame, is_updating: bool, sink: str) -> None:
    """Check before a continuous query starts that Spark supports its operations. Needs a classic session.

    Args:
        is_updating: whether the query runs in Spark's update mode.
        sink: the table that the query writes.

    Raises:
        UnsupportedSqlError: Spark does not support an operation.
    """
    spark = rows.sparkSession
    context = spark_context(spark)
    assert context is not None
    if spark.conf.get("spark.sql.streaming.unsupportedOperationCheck") == "false":
        return
    jvm: Any = context._jvm
    sql = jvm.org.apache.spark.sql
    mode = sql.streaming.OutputMode.Update() if is_updating else sql.streaming.OutputMode.Append()
    try:
        sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(analyzed_plan(rows), mode)
    except AnalysisException as e:
        if not (e.getCondition() or "").startswith(_OUTPUT_MODE):
            raise unsupported_operation(e, f"INSERT INTO '{sink}'", sink) from None


def is_unsupported_operation(error: AnalysisException) -> bool:
    """Return whether Spark does not support an operation in streams. These errors have no condition."""
    first_line = str(error).partition("\n")[0]
    return not first_line.startswith("[") and "supported" in first_line


def unsupported_operation(error: AnalysisException, statement: str, sink: str | None = None) -> UnsupportedSqlError:
    """Return the error of a query that Spark does not support.

    Args:
        error: Spark's error, whose first line is followed by the plan.
        statement: the start of the message, such as ``INSERT INTO 't'``.
        sink: the table that the query writes.
    """
    text = str(error)
    reason = text.partition("\n")[0].rstrip(";. ")
    if reason.startswith("Distinct aggregations are not supported"):
        counted = _DISTINCT_COUNT.search(text)
        reason = _distinct_alternative(counted[1] if counted else "x")
    for start, alternative in _ALTERNATIVES.items():
        if reason.startswith(start):
            reason = alternative
    return UnsupportedSqlError(f"{statement}: {reason}.", table=sink)


def _distinct_alternative(column: str) -> str:
    return (
        f"an aggregate with DISTINCT is not supported in this continuous query. Replace "
        f"COUNT(DISTINCT {column}) by size(collect_set({column})), which has the same result, or by "
        f"approx_count_distinct({column}), which needs less state"
    )
