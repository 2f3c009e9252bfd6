"""Find out whether Spark can run a query as a stream, and why not."""

from __future__ import annotations

from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from kafka_sql.runtime.error_loggers import errors_are_answers
from kafka_sql.spark.catalyst import has_equality, joins_of_streams
from kafka_sql.spark.distinct_aggregates import expand_distinct
from kafka_sql.spark.internal import Internal, JavaClass, Text
from kafka_sql.spark.jvm import jvm, query_execution
from kafka_sql.spark.plan import AGGREGATE_FUNCTION, ATTRIBUTE, Expression, Operator
from kafka_sql.spark.plan_reader import read_plan

_CHECKER: Final = "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker"
_WHY: Final = "a streaming query that Spark does not support is rejected before it starts"
_FAILS: Final = "streaming INSERTs fail before they start"
_SESSION: Final = "session_window"  # in the names of columns with sessions
_OUTPUT_MODE: Final = "STREAMING_OUTPUT_MODE"  # the start of conditions: the query may run in another mode
_UNSUPPORTED_OUTPUT_MODE: Final = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
_UNSUPPORTED_OPERATION: Final = "_LEGACY_ERROR_TEMP_3102"  # the checker's other errors; their parameter has the text

# the start of the checker's texts
DISTINCT: Final = "Distinct aggregations are not supported"
EXCEPT: Final = "Except on a streaming"
INTERSECT: Final = "Intersect of streaming"
OFFSET: Final = "Offset is not supported"
SORT: Final = "Sorting is not supported"
STREAM_JOIN: Final = "Stream-stream "  # the type of the join follows
# parts of its texts about joins that it supports with no watermark
_UNSUPPORTED_JOINS: Final = (
    " joins with a streaming DataFrame/Dataset on the right are not supported",
    " join with a streaming DataFrame/Dataset on the ",
    "Join type ",
)

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(_CHECKER, _WHY, _FAILS, members=("checkForStreaming/2",)),
    JavaClass("org.apache.spark.sql.streaming.OutputMode", _WHY, _FAILS, members=("Append/0", "Update/0")),
    *(
        Text(text, "the error says what to write instead", "the error has Spark's text", source=f"{_CHECKER}$")
        for text in (DISTINCT, EXCEPT, INTERSECT, OFFSET, SORT, STREAM_JOIN, *_UNSUPPORTED_JOINS)
    ),
)


def check_streaming(rows: DataFrame, uses_update_mode: bool) -> None:
    """Check whether Spark can run a query as a stream. Needs a classic session.

    Args:
        uses_update_mode: whether in update mode, or else in append mode.

    Raises:
        AnalysisException: it cannot; see ``unsupported_operation`` and ``is_output_mode_error``.
    """
    java = jvm(rows.sparkSession)
    update = java.org.apache.spark.sql.streaming.OutputMode.Update()
    mode = update if uses_update_mode else java.org.apache.spark.sql.streaming.OutputMode.Append()
    checker = java.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(query_execution(expand_distinct(rows)).analyzed(), mode)


def unsupported_operation(error: AnalysisException) -> str | None:
    """Return Spark's text about an operation that it does not support in streams; None for other errors."""
    if error.getCondition() != _UNSUPPORTED_OPERATION:
        return None
    text = str(error).removeprefix(f"[{_UNSUPPORTED_OPERATION}] ")
    return text.partition("\n")[0].rstrip(";. ")  # the plan follows


def is_output_mode_error(error: AnalysisException) -> bool:
    """Return whether Spark does not support a query in this output mode, but may in another one."""
    return (error.getCondition() or "").startswith(_OUTPUT_MODE)


def needs_update_mode(error: AnalysisException, plan: Operator) -> bool:
    """Return whether Spark does not support a query in append mode because an aggregate changes its rows."""
    return error.getCondition() == _UNSUPPORTED_OUTPUT_MODE and has_aggregate(plan)


def supports_append_mode(rows: DataFrame) -> bool:
    """Return whether no row of a query changes later; true, too, if the query is not supported at all."""
    try:
        with errors_are_answers():
            check_streaming(rows, uses_update_mode=False)
    except AnalysisException as e:
        if (unsupported_operation(e) or "").startswith(DISTINCT):
            remaining = [o for o in read_plan(expand_distinct(rows)).walk() if _has_distinct(o)]
            return any(map(event_time_keys, remaining))  # such as sessions
        return not needs_update_mode(e, read_plan(rows))
    return True


def supports_join(rows: DataFrame) -> bool:
    """Return whether Spark can join the streams of a query.

    It cannot if the watermark does not bound an outer join, if both sides have no equality, or for NOT IN and EXISTS.
    """
    try:
        with errors_are_answers():
            check_streaming(rows, uses_update_mode=False)
    except AnalysisException as e:
        reason = unsupported_operation(e) or ""
        return not reason.startswith(STREAM_JOIN) and not any(text in reason for text in _UNSUPPORTED_JOINS)
    if not any(operator.joins_streams() for operator in read_plan(rows).walk()):
        return True
    return all(has_equality(rows.sparkSession, join) for join in joins_of_streams(rows))


def has_aggregate(plan: Operator) -> bool:
    """Return whether a streaming plan has an aggregate or a DISTINCT."""
    return any(operator.name in ("Aggregate", "Distinct") for operator in plan.walk())


def groups_by_event_time(plan: Operator) -> bool:
    """Return whether an aggregate of a plan groups by a window, or by another column with a watermark."""
    return any(map(event_time_keys, plan.walk()))


def event_time_keys(operator: Operator) -> list[Expression]:
    """Return the columns with a watermark among those by which an operator groups."""
    keys = operator.keys if operator.name == "Aggregate" else ()
    return [key for key in keys if key.is_event_time and key.name in ("Alias", ATTRIBUTE)]


def has_distinct_sessions(plan: Operator) -> bool:
    """Return whether an aggregate of a plan has DISTINCT in session windows, which Spark does not support."""
    return any(
        _has_distinct(operator) and any(_SESSION in key.text for key in event_time_keys(operator))
        for operator in plan.walk()
    )


def _has_distinct(operator: Operator) -> bool:
    return any(part.name == AGGREGATE_FUNCTION and part.text for part in operator.expressions)


def distinct_column(plan: Operator) -> str | None:
    """Return the column that COUNT(DISTINCT ...) counts; None if there is no such call of one column."""
    for operator in plan.walk():
        for call in operator.expressions:
            if call.name == AGGREGATE_FUNCTION and call.text:
                columns = [part.text for part in call.walk() if part.name == ATTRIBUTE]
                return columns[0] if len(columns) == 1 and call.children[0].name == "Count" else None
    return None
