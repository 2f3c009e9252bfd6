"""Top-N and deduplication of streams: Flink's Rank, Deduplicate and WindowRank.

Spark has no window functions over streams. ``ROW_NUMBER() OVER (...) <= n`` and ``ORDER BY ... LIMIT n`` become an
operator of ``kafka_sql/state``:

- Rank keeps the first rows of each key, or all rows if they can be retracted, and returns what changes. The
  deduplication that keeps the last row is one in which the last one of rows with the same time is the first one.
- Deduplicate keeps the first row by a time attribute.
- WindowRank returns the rows of a window when the watermark closes it. These never change, as those of Deduplicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    output,
    show,
)
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.jobs.changelog.aggregate_calls import check_expressions
from kafka_sql.sql.jobs.changelog.rankings import Ranking, ends_with_now, has_event_time, is_deduplication
from kafka_sql.sql.jobs.changelog.relation import MakeError, Mode, Relation, all_references, keep_columns, references
from kafka_sql.sql.jobs.changelog.window_time import find_window_time
from kafka_sql.sql.jobs.changelog.windows import waits_for_watermark
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_rank
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME


@dataclass(frozen=True)
class TopN:
    """A Top-N of a plan."""

    keys: Sequence[Node]  # PARTITION BY
    orders: Sequence[Node]  # ORDER BY, Spark's SortOrder
    number: Node | None  # the alias of the row number; None for ORDER BY ... LIMIT
    ranking: Ranking  # what the query needs
    operator: Operator  # as the user wrote it


def read_window(plan: Plan, operator: Operator, ranking: Ranking) -> TopN:
    """Return the Top-N that Spark's operator Window with one row number is."""
    (number,) = elements(plan.windowExpressions())
    return TopN(elements(plan.partitionSpec()), elements(plan.orderSpec()), number, ranking, operator)


def rank_rows(
    catalyst: Catalyst, top_n: TopN, relation: Relation, keeps_old_rows: bool, unsupported: MakeError
) -> tuple[Relation, Json]:
    """Return the rows of a Top-N with their ranks, and its state as in a fingerprint.

    Args:
        relation: its input, which never changes or has old rows.
        keeps_old_rows: whether the result has the old rows of updates.

    Raises:
        UnsupportedSqlError: a row that is retracted might not be found.
    """
    kept = keep_columns(relation.columns, top_n.ranking.needed)
    if relation.row_kind is not None:
        nodes = [*kept, *top_n.keys, *(order.child() for order in top_n.orders)]
        check_expressions(nodes, relation, "a Top-N of changes", unsupported)
    name, result = "Rank", None
    if relation.is_insert_only:
        window = find_window_time(catalyst, relation.plan, top_n.keys)
        if window is not None:
            name, result = "WindowRank", _rank_windows(catalyst, top_n, kept, *window)
        elif is_deduplication(top_n.operator, top_n.ranking) and top_n.orders[0].isAscending():
            name, result = "Deduplicate", _keep_first(catalyst, top_n, kept, relation)
    if result is None:
        result = _rank(catalyst, top_n, kept, relation, keeps_old_rows)
    types = {column_id(column): str(column.dataType().simpleString()) for column in kept}
    orders = [f"{show(order.child())} {_direction(order)}" for order in top_n.orders]
    described = describe_rank(name, top_n.operator, orders, top_n.ranking.ranks.stop - 1, types)
    ranked = _restore_columns(catalyst, result, relation.columns, kept, top_n.number)
    if name != "Rank":
        return Relation(catalyst.project(output(ranked)[:-1], ranked)), described
    changes = Relation(ranked, Mode.RETRACT, output(ranked)[-1])
    return _identify(changes, top_n, relation, frozenset(map(column_id, kept)), keeps_old_rows), described


def _direction(order: Node) -> str:
    return f"{order.direction().sql()} {order.nullOrdering().sql()}"


@dataclass(frozen=True)
class _Inputs:
    """The input of an operator of ``kafka_sql/state``."""

    rows: DataFrame
    key: Sequence[str]
    columns: Sequence[str]  # those that are kept, and those of ORDER BY
    order: state.RankOrder


def _inputs(
    catalyst: Catalyst, top_n: TopN, kept: Sequence[Attribute], relation: Relation, time: Sequence[Attribute] = ()
) -> _Inputs:
    """Return the columns that the state keeps, the key, and what else the operator needs.

    Args:
        time: the event time of the window, which is the last column of the key.
    """
    columns = {f"c{i}": catalyst.column(column) for i, column in enumerate(kept)}
    names = {column_id(column): f"c{i}" for i, column in enumerate(kept)}
    ordered = []
    for i, order in enumerate(top_n.orders):
        node = order.child()
        name = names.get(column_id(node)) if class_name(node) == "AttributeReference" else None
        if name is None:
            name, columns[f"o{i}"] = f"o{i}", catalyst.column(node)
        ordered.append(name)
    keys = {f"k{i}": column for i, column in enumerate(catalyst.columns([*top_n.keys, *time]))}
    hidden = {}
    if relation.row_kind is not None:
        hidden[ROW_KIND_NAME] = catalyst.column(relation.row_kind)
    if relation.row_order is not None:
        hidden[ROW_ORDER_NAME] = catalyst.column(relation.row_order).cast("bigint")
    named = (columns | keys | hidden).items()
    rows = catalyst.dataframe(relation.plan).select(*(column.alias(name) for name, column in named))
    is_descending = [not order.isAscending() for order in top_n.orders]
    nulls_first = [str(order.nullOrdering().sql()) == "NULLS FIRST" for order in top_n.orders]
    is_by_time = is_deduplication(top_n.operator, top_n.ranking) or ends_with_now(top_n.operator)
    last_is_first = is_by_time and is_descending[-1]
    return _Inputs(rows, list(keys), list(columns), state.RankOrder(ordered, is_descending, nulls_first, last_is_first))


def _rank(
    catalyst: Catalyst, top_n: TopN, kept: Sequence[Attribute], relation: Relation, keeps_old_rows: bool
) -> DataFrame:
    inputs = _inputs(catalyst, top_n, kept, relation)
    return state.rank(
        inputs.rows,
        inputs.key,
        inputs.columns,
        inputs.order,
        top_n.ranking.ranks,
        arrival=None if relation.row_order is None else ROW_ORDER_NAME,
        has_changes=relation.row_kind is not None,
        has_rank=top_n.ranking.has_rank,
        returns_old_rows=keeps_old_rows,
    )


def _keep_first(catalyst: Catalyst, top_n: TopN, kept: Sequence[Attribute], relation: Relation) -> DataFrame:
    inputs = _inputs(catalyst, top_n, kept, relation)
    time = inputs.order.columns[0] if has_event_time(top_n.operator) else None
    return state.keep_first(inputs.rows, inputs.key, inputs.columns, time, _drops_late_rows(top_n))


def _rank_windows(catalyst: Catalyst, top_n: TopN, kept: Sequence[Attribute], plan: Plan, time: Attribute) -> DataFrame:
    inputs = _inputs(catalyst, top_n, kept, Relation(plan), [time])
    ranks = top_n.ranking.ranks
    return state.rank_windows(inputs.rows, inputs.key, inputs.columns, inputs.order, ranks, _drops_late_rows(top_n))


def _drops_late_rows(top_n: TopN) -> bool:
    return not any(map(waits_for_watermark, top_n.operator.children))


def _restore_columns(
    catalyst: Catalyst,
    ranked: DataFrame,
    columns: Sequence[Attribute],
    kept: Sequence[Attribute],
    number: Node | None,
) -> Plan:
    """Return the ranked rows with all columns of the input, and with their ids, the number and the row kind.

    Projections above may name columns that are not used. They are NULL.
    """
    names = {column_id(column): f"c{i}" for i, column in enumerate(kept)}
    values = [
        F.col(names[column_id(column)])
        if column_id(column) in names
        else F.lit(None).cast(str(column.dataType().sql())).alias(f"n{i}")
        for i, column in enumerate(columns)
    ]
    rows = analyzed_plan(ranked.select(*values, F.col("rank").cast("int"), ROW_KIND_NAME))
    *restored, rank, row_kind = output(rows)
    named = list(map(catalyst.without_metadata, columns))
    items = [catalyst.alias(column, name) for column, name in zip(restored, named, strict=True)]
    if number is not None:
        items.append(catalyst.alias(rank, number))
    return catalyst.project([*items, row_kind], rows)


def _identify(ranked: Relation, top_n: TopN, relation: Relation, ids: frozenset[int], keeps_old_rows: bool) -> Relation:
    """Return the result with the columns that identify its rows.

    Args:
        ids: the ids of the columns that are kept.
    """
    number = frozenset() if top_n.number is None else frozenset({column_id(top_n.number)})
    partition = [references(key) & ids for key in top_n.keys if references(key)]  # without constants
    is_single = len(top_n.ranking.ranks) == 1
    if is_single or top_n.ranking.has_rank:
        mode = Mode.RETRACT if keeps_old_rows else Mode.UPSERT
        key = tuple(partition) if is_single else (*partition, number)
        return replace(ranked, mode=mode, key=key, fixed=frozenset().union(*partition, number))
    if relation.key is None:
        return replace(ranked, fixed=number, is_unordered=True)
    is_unordered = not all_references(top_n.keys) <= relation.fixed
    fixed = relation.fixed & ids | number
    return replace(ranked, key=tuple(part & ids for part in relation.key), fixed=fixed, is_unordered=is_unordered)
