"""Prepare joins and DISTINCT for real-time mode, in which Spark has broadcast hash joins only."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan
from kafka_sql.spark.plan import Expression, Operator
from kafka_sql.spark.plan_reader import read_plan

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

    Args:
        sink: the table that the query writes, for errors.

    Raises:
        UnsupportedSqlError: Spark does not support a join, or an operator of a table, in real-time mode.
    """
    operators = list(read_plan(rows).walk())
    if not any(operator.name in ("Distinct", "Join") for operator in operators):
        return rows
    for operator in operators:
        if operator.name == "Join":
            _check_join(operator, sink)
    catalyst = Catalyst(rows.sparkSession)
    plan = catalyst.broadcast_tables(analyzed_plan(rows), lambda table: _check_table(catalyst, table, sink))
    return catalyst.dataframe(plan)


def _check_join(join: Operator, sink: str) -> None:
    left, right = join.children
    if left.is_streaming and right.is_streaming:
        raise _error(sink, "a join of two streams")
    if join.detail not in (_LEFT_STREAM if left.is_streaming else _RIGHT_STREAM):
        side = "left" if left.is_streaming else "right"
        raise _error(sink, f"a {join.detail} JOIN with the stream on the {side} side")
    conditions = [] if join.condition is None else join.condition.conjuncts()
    if not any(_compares_sides(condition, left, right) for condition in conditions):
        raise _error(sink, "a join without an equality of a column of the stream and a column of the table")


def _compares_sides(condition: Expression, left: Operator, right: Operator) -> bool:
    """Return whether a condition is an equality of the two sides."""
    if condition.name not in ("EqualTo", "EqualNullSafe"):
        return False
    ids = [{column.id for column in side.output} for side in (left, right)]
    used = [side.references() for side in condition.children]
    return all(used) and any(a <= ids[0] and b <= ids[1] for a, b in (used, used[::-1]))


def _check_table(catalyst: Catalyst, table: Plan, sink: str) -> None:
    for name, table_class in catalyst.physical_operators(table):
        if name not in _OPERATORS and not (name == "BatchScanExec" and table_class == _PYTHON_SOURCE):
            found = "the scan of another data source" if name == "BatchScanExec" else f"the operator {name}"
            advice = "The table can be a Kafka table, consist of files, such as parquet, or of VALUES. Or "
            raise _error(sink, f"a join with {found}", advice)


def _error(sink: str, what: str, advice: str = "") -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"INSERT INTO '{sink}': {what} is not supported in real-time mode, which joins a stream with a table that is "
        f"broadcast. {advice}{_WHAT_TO_DO}.",
        table=sink,
    )
