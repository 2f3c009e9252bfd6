"""Prepare joins and DISTINCT for real-time mode, in which Spark has broadcast hash joins only."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, class_name, elements, walk

_LEFT_STREAM: Final = frozenset(("INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI"))
_RIGHT_STREAM: Final = frozenset(("INNER", "CROSS", "RIGHT OUTER"))
# physical operators of other tables, of those that Spark's RealTimeModeAllowlist has
_OPERATORS: Final = frozenset(
    ("FileSourceScanExec", "FilterExec", "GenerateExec", "LocalTableScanExec", "ProjectExec", "RangeExec", "UnionExec")
)
_PYTHON_SOURCE: Final = "PythonTable"  # the class of the tables of Python data sources, such as Kafka tables
_WHAT_TO_DO: Final = "SET 'execution.latency-mode' = 'micro-batch' to run it in micro-batches"


def prepare_operators(rows: DataFrame, sink: str) -> DataFrame:
    """Return a streaming query that broadcasts the tables that its streams join, and returns distinct rows once.

    Spark's DISTINCT is an aggregate, which would return a row again whenever an equal one arrives.

    Args:
        sink: the table that the query writes, for errors.

    Raises:
        UnsupportedSqlError: Spark does not support a join, or an operator of a table, in real-time mode.
    """
    plan = analyzed_plan(rows)
    catalyst = Catalyst(rows.sparkSession)
    prepared = _prepare(catalyst, plan, sink)
    return rows if prepared is plan else catalyst.dataframe(prepared)


def _prepare(catalyst: Catalyst, plan: Plan, sink: str) -> Plan:
    """Return a plan with hints for the tables; the plan itself if it has neither joins nor DISTINCT."""
    if not plan.isStreaming():
        return plan
    children = elements(plan.children())
    inputs = [_prepare(catalyst, child, sink) for child in children]
    if class_name(plan) == "Distinct":
        return catalyst.deduplicate(inputs[0])
    if class_name(plan) == "Join":
        stream_is_left, stream_is_right = (child.isStreaming() for child in children)
        if stream_is_left and stream_is_right:
            raise _error(sink, "a join of two streams")
        _check_join(plan, stream_is_left, sink)
        table = 1 if stream_is_left else 0
        _check_table(catalyst, inputs[table], sink)
        inputs[table] = catalyst.broadcast_hint(inputs[table])
    if all(new is old for new, old in zip(inputs, children, strict=True)):
        return plan
    return catalyst.with_inputs(plan, inputs)


def _check_join(join: Plan, stream_is_left: bool, sink: str) -> None:
    join_type = str(join.joinType().sql())
    if join_type not in (_LEFT_STREAM if stream_is_left else _RIGHT_STREAM):
        side = "left" if stream_is_left else "right"
        raise _error(sink, f"a {join_type} JOIN with the stream on the {side} side")
    condition = join.condition()
    conditions = [condition.get()] if condition.isDefined() else []
    if not any(_compares_sides(part, join) for c in conditions for part in _conjuncts(c)):
        raise _error(sink, "a join without an equality of a column of the stream and a column of the table")


def _conjuncts(condition: Any) -> list[Any]:
    if class_name(condition) != "And":
        return [condition]
    return [*_conjuncts(condition.left()), *_conjuncts(condition.right())]


def _compares_sides(condition: Any, join: Plan) -> bool:
    """Return whether a condition is an equality of the two sides."""
    if class_name(condition) not in ("EqualTo", "EqualNullSafe"):
        return False
    ids = [{int(a.exprId().id()) for a in elements(side.output())} for side in (join.left(), join.right())]
    used = [_column_ids(side) for side in (condition.left(), condition.right())]
    orders = (used, used[::-1])
    return all(used) and any(a <= ids[0] and b <= ids[1] for a, b in orders)


def _column_ids(expression: Any) -> set[int]:
    return {int(node.exprId().id()) for node in walk(expression) if class_name(node) == "AttributeReference"}


def _check_table(catalyst: Catalyst, table: Plan, sink: str) -> None:
    untyped: Any = catalyst.dataframe(table)
    pending = [untyped._jdf.queryExecution().sparkPlan()]
    while pending:
        operator = pending.pop()
        name = class_name(operator)
        if name not in _OPERATORS and not (name == "BatchScanExec" and class_name(operator.table()) == _PYTHON_SOURCE):
            found = "the scan of another data source" if name == "BatchScanExec" else f"the operator {name}"
            advice = "The table can be a Kafka table, consist of files, such as parquet, or of VALUES. Or "
            raise _error(sink, f"a join with {found}", advice)
        pending += elements(operator.children())


def _error(sink: str, what: str, advice: str = "") -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"INSERT INTO '{sink}': {what} is not supported in real-time mode, which joins a stream with a table that is "
        f"broadcast. {advice}{_WHAT_TO_DO}.",
        table=sink,
    )
