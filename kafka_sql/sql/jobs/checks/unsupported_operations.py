"""Reject continuous queries with operations that Spark's streams do not support, in one line that names an alternative.

Spark's own error has the plan of the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark import stream_support
from kafka_sql.spark.plan import OPERATOR_NAMES, WATERMARK, Operator
from kafka_sql.spark.plan_reader import read_plan

_IN_STREAMS: Final = "is not supported in a continuous query"
_JOIN_ADVICE: Final = (
    "of streams needs a WATERMARK in both tables and a range of their event times in ON, such as "
    "a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts"
)
# the start of Spark's message, and what to write instead
_ALTERNATIVES: Final = {
    stream_support.SORT: f"ORDER BY {_IN_STREAMS}, which has no last row. Sort the rows when the table is read. "
    "For a Top-N, write ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) <= n",
    stream_support.OFFSET: f"OFFSET {_IN_STREAMS}. Skip the rows when the table is read",
    stream_support.EXCEPT: f"EXCEPT {_IN_STREAMS}. Write a LEFT JOIN, and filter the rows without a partner when the "
    "table is read",
    stream_support.INTERSECT: f"INTERSECT {_IN_STREAMS}. Write a JOIN",
    f"{stream_support.STREAM_JOIN}LeftSemi join": f"a LEFT SEMI JOIN {_JOIN_ADVICE}",
    f"{stream_support.STREAM_JOIN}LeftOuter join": f"a LEFT JOIN {_JOIN_ADVICE}",
    f"{stream_support.STREAM_JOIN}RightOuter join": f"a RIGHT JOIN {_JOIN_ADVICE}",
    f"{stream_support.STREAM_JOIN}FullOuter join": f"a FULL OUTER JOIN {_JOIN_ADVICE}",
}


def check_operations(rows: DataFrame, uses_update_mode: bool, sink: str) -> None:
    """Check before a continuous query starts that Spark supports its operations. Needs a classic session.

    Raises:
        UnsupportedSqlError: Spark does not support an operation.
    """
    if rows.sparkSession.conf.get("spark.sql.streaming.unsupportedOperationCheck") == "false":
        return
    try:
        stream_support.check_streaming(rows, uses_update_mode)
    except AnalysisException as e:
        if not stream_support.is_output_mode_error(e):
            raise explain_unsupported(e, rows, sink) from None


def explain_unsupported(
    error: AnalysisException, rows: DataFrame, sink: str | None = None
) -> AnalysisException | UnsupportedSqlError:
    """Return the error of a query with an operation that Spark does not support in streams; or else Spark's error.

    Args:
        sink: the table that the query writes; None for a SELECT.
    """
    reason = stream_support.unsupported_operation(error)
    if reason is None:
        return error
    if reason.startswith(stream_support.DISTINCT):
        column = stream_support.distinct_column(read_plan(rows)) or "x"
        reason = (
            f"an aggregate with DISTINCT is not supported in this continuous query. Replace COUNT(DISTINCT {column}) "
            f"by size(collect_set({column})), which has the same result, or by approx_count_distinct({column}), which "
            "needs less state"
        )
    for start, alternative in _ALTERNATIVES.items():
        if reason.startswith(start):
            reason = alternative
    statement = "SELECT" if sink is None else f"INSERT INTO '{sink}'"
    return UnsupportedSqlError(f"{statement}: {reason}.", table=sink)


# operators that return a row for each row of their input, or of one of their inputs
_KEEPS_ROWS: Final = frozenset(
    {WATERMARK, "CTERelationRef", "CollectMetrics", "Project", "RebalancePartitions", "Repartition", "Sort", "Union"}
    | {"RepartitionByExpression", "ResolvedHint", "SubqueryAlias", "View"}
)
_OPERATOR_DESCRIPTIONS: Final = OPERATOR_NAMES | {"Filter": "a filter (HAVING or WHERE)"}


def check_update_mode(plan: Operator, table: str) -> None:
    """Check over Spark Connect that an updating query overwrites each row that it has written.

    In update mode, a micro-batch returns the result rows that it changed. A row that leaves the result, because a
    filter no longer accepts it, is not returned: its last version would stay in the table forever. A classic session
    rewrites the plan of such a query (``changelog``), but a client of Spark Connect only sees the names of its
    operators.

    Raises:
        UnsupportedSqlError: rows that leave the result could stay in the table.
    """
    for operator in _operators_over_aggregates(plan):
        if operator.name not in _KEEPS_ROWS:
            name = _OPERATOR_DESCRIPTIONS.get(operator.name, f"the operator {operator.name}")
            raise UnsupportedSqlError(
                f"INSERT INTO '{table}': {name} over a streaming aggregate is not supported over Spark Connect, "
                "because rows that leave the result would stay in the table. Run the statement in a classic session, "
                "or write the aggregate into the table, and apply the rest of the query when the table is read.",
                table=table,
            )


def _operators_over_aggregates(plan: Operator) -> Iterator[Operator]:
    """Yield the operators between the result and a streaming aggregate."""
    for operator in plan.walk():
        inputs = (o for child in operator.children for o in child.walk())
        if any(o.name == "Aggregate" for o in inputs):
            yield operator
