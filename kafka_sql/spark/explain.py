"""Return Spark's plans as text, and replace the methods that print them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_sql.spark.context import is_connect
from kafka_sql.spark.internal import Internal, JavaClass, PythonName
from kafka_sql.spark.jvm import java_query, jvm, query_execution
from kafka_sql.spark.patch import Function, Patch

_WHY = "plans name tables as declared"
_IF_GONE = "explain() names the objects behind the tables"
_NO_PLAN = "explain() of Connect fails with an AttributeError; EXPLAIN works"

_CLASSIC: Final = (
    Patch("pyspark.sql.classic.dataframe.DataFrame.explain", _WHY, _IF_GONE, parameters=("extended", "mode")),
    Patch("pyspark.sql.streaming.query.StreamingQuery.explain", _WHY, _IF_GONE, parameters=("extended",)),
)
_CONNECT: Final = (
    Patch("pyspark.sql.connect.dataframe.DataFrame.explain", _WHY, _IF_GONE, parameters=("extended", "mode")),
    Patch("pyspark.sql.connect.streaming.query.StreamingQuery.explain", _WHY, _IF_GONE, parameters=("extended",)),
)
INTERNALS: Final[tuple[Internal, ...]] = (
    *_CLASSIC,
    *_CONNECT,
    PythonName("pyspark.sql.connect.dataframe.DataFrame._explain_string", _WHY, _NO_PLAN),
    PythonName("pyspark.sql.connect.streaming.query.StreamingQuery._execute_streaming_query_cmd", _WHY, _NO_PLAN),
    JavaClass(
        "org.apache.spark.sql.api.python.PythonSQLUtils",
        "returns the plan that explain() prints",
        "explain() fails with an error of Py4J; EXPLAIN works for queries without a changelog",
        members=("explainString/2",),
    ),
    JavaClass(
        "org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper",
        "returns the plan that explain() prints; its last execution has the metrics of a micro-batch",
        "explain() of a query fails with an error of Py4J; bytes are not reported",
        members=("explainInternal/1", "streamingQuery/0"),
    ),
)


def explain(frame: DataFrame, mode: str) -> str:
    """Return the plans of a DataFrame in a mode of Spark's EXPLAIN, such as ``simple``."""
    if is_connect(frame.sparkSession):
        untyped: Any = frame
        return str(untyped._explain_string(mode=mode))
    utils = jvm(frame.sparkSession).org.apache.spark.sql.api.python.PythonSQLUtils
    return str(utils.explainString(query_execution(frame), mode))


def explain_query(query: StreamingQuery, extended: bool = False) -> str:
    """Return the plan of the last micro-batch of a query."""
    handle = java_query(query)
    if handle is not None:
        return str(handle.explainInternal(extended))
    from pyspark.sql.connect.proto import StreamingQueryCommand

    command = StreamingQueryCommand()
    untyped: Any = query
    command.explain.extended = extended
    result = untyped._execute_streaming_query_cmd(command)
    return str(result.explain.result)


def patch_explain(spark: SparkSession, show: Callable[[str], str]) -> None:
    """Patch ``DataFrame.explain()`` and ``StreamingQuery.explain()`` of this process, of the session's type."""

    def explain_frame(
        original: Function, self: DataFrame, extended: bool | str | None = None, mode: str | None = None
    ) -> None:
        modes: dict[bool | str | None, str] = {None: mode or "simple", False: "simple", True: "extended"}
        chosen = modes.get(extended, extended)
        if not isinstance(chosen, str) or (extended is not None and mode is not None):
            original(self, extended, mode)  # raises Spark's error
        else:
            print(show(explain(self, chosen)))

    def explain_streaming_query(_: Function, self: StreamingQuery, extended: bool = False) -> None:
        print(show(explain_query(self, extended)))

    frame_patch, query_patch = _CONNECT if is_connect(spark) else _CLASSIC
    frame_patch.apply(explain_frame)
    query_patch.apply(explain_streaming_query)
