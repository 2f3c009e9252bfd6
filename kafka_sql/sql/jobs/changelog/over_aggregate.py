"""Compute OVER windows of streams: Flink's OverAggregate becomes an operator of ``kafka_sql/state``.

The order decides which one. By event time, a row is final when the watermark passes it; by processing time, at once. By
another column, or over rows that change, the result changes with each row before. Frames end with the current row, as
in Flink.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_sql import state
from kafka_sql.spark.catalyst import (
    Attribute,
    Catalyst,
    Node,
    Plan,
    analyzed_plan,
    class_name,
    column_id,
    elements,
    is_event_time,
    output,
    show,
)
from kafka_sql.spark.plan import AGGREGATE_FUNCTION, reference, resolve
from kafka_sql.spark.plan_reader import read_operator
from kafka_sql.sql.jobs.changelog.aggregate_calls import check_expressions
from kafka_sql.sql.jobs.changelog.relation import MakeError, Mode, Relation, all_references, is_fixed, keep_columns
from kafka_sql.sql.jobs.changelog.windows import waits_for_watermark
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_over
from kafka_sql.state import OverCall
from kafka_sql.table.changelog import INSERT, KINDS, ROW_KIND_NAME, ROW_ORDER_NAME

_CURRENT_TIMES: Final = ("CurrentTimestamp", "LocalTimestamp", "Now")
_OF_ALL_ROWS: Final = {"CumeDist": "CUME_DIST", "NTile": "NTILE", "PercentRank": "PERCENT_RANK", "Lead": "LEAD"}


@dataclass(frozen=True)
class Rows:
    """The rows of an operator, with names for its columns."""

    frame: DataFrame
    kept: Sequence[Attribute]  # the columns that are returned or that the operator reads
    replacements: Sequence[tuple[Node, Node]]  # from these columns to those of the frame

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.frame.columns[: len(self.kept)]

    def name(self, column: Attribute) -> str:
        """Return the name of a column."""
        return self.names[[column_id(kept) for kept in self.kept].index(column_id(column))]


def aggregate_over(
    catalyst: Catalyst, plan: Plan, relation: Relation, needed: frozenset[int] | None, unsupported: MakeError
) -> tuple[Relation, Json]:
    """Return the rows of an OVER window, and its state as in a fingerprint.

    Args:
        plan: the operator, a ``Window`` of Spark.
        relation: its input: rows that never change, or changes with old rows.
        needed: the ids of the columns that the query uses; None for all. Others are not returned.
        unsupported: returns the error for what is not supported.

    Raises:
        UnsupportedSqlError: a frame or a function needs the rows after the current one, or a retracted row might not be
            found.
    """
    partition, order = elements(plan.partitionSpec()), elements(plan.orderSpec())
    items = elements(plan.windowExpressions())
    if not order:
        raise unsupported(
            f"{show_call(items[0])} without ORDER BY",
            "a stream has no last row. Add ORDER BY with a time attribute or another column",
        )
    used = all_references([*items, *partition, *order])
    is_time = relation.is_insert_only and not is_descending(order[0])
    by_processing_time = is_processing_time(plan.child(), order[0].child())
    by_event_time = is_time and not by_processing_time and _is_time_attribute(plan.child(), order[0].child())
    if by_processing_time and not is_time:
        raise unsupported(
            "OVER in the descending order of a processing time, or over rows that change,",
            "Flink supports neither. Use an ascending order over rows that never change",
        )
    calls = [_read_call(item, by_event_time or by_processing_time, unsupported) for item in items]
    if not relation.is_insert_only:
        check_expressions(
            [*items, *keep_columns(relation.columns, None if needed is None else needed | used)],
            relation,
            "OVER",
            unsupported,
        )
    rows = name_columns(catalyst, relation, partition, needed, used)
    keys = [f"k{i}" for i in range(len(partition))]
    calls = [_replace(catalyst, call, rows) for call in calls]
    for call, item in zip(calls, items, strict=True):
        if not state.is_over_function(rows.frame, call.function):
            raise unsupported(
                f"the function {show_call(item)}",
                "only aggregate functions with accumulators, LAG and the functions of ranks are computed in a stream. "
                "Remove it, or run a batch query",
            )
    orders = [catalyst.replace(item, rows.replacements) for item in order]
    described = describe_over(read_operator(plan.child()), [*map(show, partition)], [*map(show, order)], _texts(items))
    if by_processing_time:
        calls = [replace(c, is_rows=True) if c.preceding == state.UNBOUNDED else c for c in calls]
        result = state.over_processing_time(rows.frame, keys, rows.names, rows.name(order[0].child()), calls)
    elif by_event_time:
        time, is_first = rows.name(order[0].child()), not waits_for_watermark(read_operator(plan.child()))
        result = state.over_event_time(rows.frame, keys, rows.names, time, orders[1:], calls, is_first)
    else:
        place = None if relation.row_order is None else ROW_ORDER_NAME
        result = state.over(rows.frame, keys, rows.names, place, orders, calls)
        return _changes(catalyst, analyzed_plan(result), rows, items, partition, relation), described
    columns = zip(output(analyzed_plan(result)), [*rows.kept, *items], strict=True)
    items = [catalyst.alias(column, named) for column, named in columns]
    return Relation(catalyst.project(items, analyzed_plan(result))), described


def has_updating_over(plan: Plan, rankings: Container[frozenset[int]]) -> bool:
    """Return whether a plan of rows that never change has an OVER window whose results change.

    Args:
        rankings: the windows that are a Top-N, by the ids of all columns.
    """
    is_over = class_name(plan) == "Window" and frozenset(map(column_id, output(plan))) not in rankings
    order = elements(plan.orderSpec()) if is_over else []
    if order and (is_descending(order[0]) or not _is_time_attribute(plan.child(), order[0].child())):
        return True
    return any(has_updating_over(child, rankings) for child in elements(plan.children()))


def _is_time_attribute(plan: Plan, column: Node) -> bool:
    if class_name(column) == "AttributeReference" and is_event_time(column):
        return True
    return is_processing_time(plan, column)


def is_descending(order: Node) -> bool:
    """Return whether an expression of ORDER BY is descending."""
    return str(order.direction().sql()) == "DESC"


def is_processing_time(plan: Plan, column: Node) -> bool:
    """Return whether a column of a plan is a processing time, ``PROCTIME()``."""
    if class_name(column) != "AttributeReference":
        return False
    operator = read_operator(plan)
    found = next((c for c in operator.output if c.id == column_id(column)), None)
    parts = resolve(reference(found), (operator,)).walk() if found is not None else ()
    return any(part.name in _CURRENT_TIMES for part in parts)


def name_columns(
    catalyst: Catalyst,
    relation: Relation,
    partition: Sequence[Node],
    needed: frozenset[int] | None,
    used: frozenset[int],
) -> Rows:
    """Return the columns of a relation that are needed or used, its keys k0, k1 and so on, and its hidden columns."""
    kept = keep_columns(relation.columns, None if needed is None else needed | used)
    row_kind = F.lit(KINDS[INSERT]) if relation.row_kind is None else catalyst.column(relation.row_kind)
    row_order = [] if relation.row_order is None else [catalyst.column(relation.row_order).alias(ROW_ORDER_NAME)]
    frame = catalyst.dataframe(relation.plan).select(
        *(catalyst.column(column).alias(f"c{i}") for i, column in enumerate(kept)),
        *(catalyst.column(key).alias(f"k{i}") for i, key in enumerate(partition)),
        row_kind.alias(ROW_KIND_NAME),
        *row_order,
    )
    return Rows(frame, kept, list(zip(kept, output(analyzed_plan(frame)), strict=False)))


def _read_call(item: Node, by_time: bool, unsupported: MakeError) -> OverCall:
    """Return the call of an item of a window, over the columns of its input."""
    call = item.child()
    function, frame = call.windowFunction(), call.windowSpec().frameSpecification()
    condition = None
    if class_name(function) == AGGREGATE_FUNCTION:
        condition = function.filter().get() if function.filter().isDefined() else None
        function = function.aggregateFunction()
    name = class_name(function)
    is_lag = name == "Lag"
    is_forward = class_name(frame.upper()) != "CurrentRow$" and not is_lag
    if name in _OF_ALL_ROWS or is_forward or (is_lag and int(frame.upper().eval(None)) > 0):
        what = f"{_OF_ALL_ROWS[name]}()" if name in _OF_ALL_ROWS else f"the frame of {show_call(item)}"
        raise unsupported(
            f"{what} in a stream",
            "its result depends on rows after the current one, which may not have arrived. Use LAG, RANK, DENSE_RANK, "
            "ROW_NUMBER or an aggregate function with a frame that ends with CURRENT ROW, or a batch query",
        )
    if is_lag and bool(function.ignoreNulls()):
        raise unsupported("LAG with IGNORE NULLS", "a stream keeps the rows before by their number. Remove the clause")
    is_rows = class_name(frame.frameType()) == "RowFrame$"
    lower = frame.lower()
    if class_name(lower) == "UnboundedPreceding$":
        return OverCall(function, condition, is_rows, state.UNBOUNDED)
    if class_name(lower) == "CurrentRow$":
        return OverCall(function, condition, is_rows, 0)
    if not is_rows and not (by_time and str(lower.dataType().typeName()).startswith("interval")):
        raise unsupported(
            f"the frame of {show_call(item)}",
            "Non-time attribute sort is not supported for bounded OVER window. Use ROWS, UNBOUNDED PRECEDING, or an "
            "interval of days to seconds before a time attribute",
        )
    return OverCall(function, condition, is_rows, -int(lower.eval(None)))


def _replace(catalyst: Catalyst, call: OverCall, rows: Rows) -> OverCall:
    condition = None if call.filter is None else catalyst.replace(call.filter, rows.replacements)
    return replace(call, function=catalyst.replace(call.function, rows.replacements), filter=condition)


def show_call(item: Node) -> str:
    """Return the function of an item of a window as text, for messages."""
    return f"{show(item.child().windowFunction())} OVER (...)"


def _texts(items: Sequence[Node]) -> list[str]:
    return [show(item.child()) for item in items]


def _changes(
    catalyst: Catalyst, result: Plan, rows: Rows, items: Sequence[Node], partition: Sequence[Node], relation: Relation
) -> Relation:
    """Return the changes of an OVER window whose results change."""
    *columns, row_kind, row_order = output(result)
    named = [*map(catalyst.without_metadata, rows.kept), *items]
    selected = [catalyst.alias(column, name) for column, name in zip(columns, named, strict=True)]
    ids = frozenset(map(column_id, rows.kept))
    key = None if relation.key is None else tuple(part & ids for part in relation.key)
    return Relation(
        catalyst.project([*selected, row_kind, row_order], result),
        Mode.RETRACT,
        row_kind,
        row_order,
        key=key,
        fixed=relation.fixed & ids,
        is_unordered=key is None or not all(is_fixed(item, relation.fixed) for item in partition),
    )
