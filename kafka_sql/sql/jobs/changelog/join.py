"""Join streams of changes: a regular join becomes an operator of ``kafka_sql/state`` that keeps the rows of both sides.

Spark joins streams of rows that never change, and only those outer joins whose matches the watermark bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import Column, DataFrame
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
    conjuncts,
    join_condition,
    output,
    show,
)
from kafka_sql.spark.plan_reader import read_operator
from kafka_sql.sql.jobs.changelog.aggregate_calls import check_expressions
from kafka_sql.sql.jobs.changelog.relation import (
    Key,
    MakeError,
    Mode,
    Relation,
    all_references,
    has_subquery,
    is_fixed,
    keep_columns,
    key_column,
    references,
)
from kafka_sql.sql.jobs.changelog.temporal_join_marks import find_temporal_join
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_join
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME

JOIN_TYPES: Final = {
    "INNER": "INNER",
    "CROSS": "INNER",
    "LEFT OUTER": "LEFT",
    "RIGHT OUTER": "RIGHT",
    "FULL OUTER": "FULL",
    "LEFT SEMI": "SEMI",
    "LEFT ANTI": "ANTI",
}
_EXISTENCE: Final = "EXISTENCE"
_CAN_MATCH: Final = "can_match"
_ONE_SIDED: Final = ("SEMI", "ANTI", _EXISTENCE)


@dataclass(frozen=True)
class _Equality:
    """An equality of the condition, between an expression of each side."""

    left: Node
    right: Node
    is_null_safe: bool

    def __str__(self) -> str:
        """Return the equality as text."""
        return f"{show(self.left)} {'<=>' if self.is_null_safe else '='} {show(self.right)}"


def merge_filter(catalyst: Catalyst, plan: Plan) -> Plan | None:
    """Return a filter over an inner join of streams as a join; None if the operator is something else.

    FROM a, b WHERE a.x = b.x is a join by x. As a filter over a join without a condition, it would be a cross product.
    """
    if class_name(plan) != "Filter" or class_name(plan.child()) != "Join" or find_temporal_join(catalyst, plan.child()):
        return None
    join, parts = plan.child(), conjuncts(plan.condition())
    sides = [join.left(), join.right()]
    if join_type_of(join) != "INNER" or not all(side.isStreaming() for side in sides):
        return None
    if any(has_subquery(part) or not part.deterministic() for part in parts):
        return None
    ids = [frozenset(map(column_id, output(side))) for side in sides]
    own = [[part for part in parts if references(part) and references(part) <= side] for side in ids]
    others = [part for part in parts if part not in own[0] and part not in own[1]]
    left, right = (catalyst.filter(filters, side) for filters, side in zip(own, sides, strict=True))
    return catalyst.join(join, left, right, [*join_condition(join), *others])


def join_changes(
    catalyst: Catalyst,
    plan: Plan,
    left: Relation,
    right: Relation,
    needed: frozenset[int] | None,
    unsupported: MakeError,
    are_insert_only: bool = False,
) -> tuple[Relation, Json]:
    """Return the changes of a join, and its state as in a fingerprint.

    Args:
        plan: the join. Its type can be that of EXISTS in an expression, which returns whether a left row has a match.
        left: changes with old rows.
        right: changes with old rows.
        needed: the ids of the columns that the query uses; None for all. Others are not returned.
        unsupported: returns the error for what is not supported.
        are_insert_only: whether no side has retractions. Then an inner join has none either, and no row kind.

    Raises:
        UnsupportedSqlError: a row that is retracted might not be found.
    """
    join_type = join_type_of(plan)
    are_insert_only = are_insert_only and join_type == "INNER"
    equalities, others = _split_condition(plan, left, right)
    used = needed if needed is None else needed | all_references(others)
    kept_left = keep_columns(left.columns, used)
    kept_right = keep_columns(right.columns, all_references(others) if join_type in _ONE_SIDED else used)
    for relation, kept in ((left, kept_left), (right, kept_right)):
        check_expressions([*kept, *_condition(equalities, others)], relation, "a join of changes", unsupported)
    rows = [
        _rows(catalyst, relation, kept, name, [getattr(e, side) for e in equalities], equalities)
        for relation, kept, name, side in ((left, kept_left, "l", "left"), (right, kept_right, "r", "right"))
    ]
    inputs = [column for r in rows for column in output(analyzed_plan(r)) if str(column.name())[0] in "lr"]
    replacements = list(zip([*kept_left, *kept_right], inputs, strict=True))
    conditions = [catalyst.replace(conjunct, replacements) for conjunct in others]
    keys = [f"k{i}" for i in range(len(equalities))]
    joined = state.join(rows[0], rows[1], keys, _CAN_MATCH, join_type, conditions, are_insert_only)
    described = describe_join(
        join_type,
        [*map(str, equalities), *map(show, others)],
        *(
            (read_operator(side), {column_id(c): str(c.dataType().simpleString()) for c in kept})
            for side, kept in ((plan.left(), kept_left), (plan.right(), kept_right))  # as the user wrote them
        ),
    )
    named = [*kept_left, *([] if join_type in _ONE_SIDED else kept_right)]
    if join_type == _EXISTENCE:
        joined = joined.withColumn("exists", F.coalesce("exists", F.lit(False)))
        named.append(plan.joinType().exists())
    *columns, row_kind = output(analyzed_plan(joined))
    items = [catalyst.alias(c, catalyst.without_metadata(n)) for c, n in zip(columns, named, strict=False)]
    if are_insert_only:
        return Relation(catalyst.project(items, analyzed_plan(joined))), described
    relation = Relation(catalyst.project([*items, row_kind], analyzed_plan(joined)), Mode.RETRACT, row_kind)
    return _identify(relation, join_type, left, right, equalities), described


def join_type_of(plan: Plan) -> str:
    """Return the type of a join, one of those of ``state.join``."""
    join_type = plan.joinType()
    return _EXISTENCE if class_name(join_type) == "ExistenceJoin" else JOIN_TYPES[str(join_type.sql())]


def is_regular_join(state: Json) -> bool:
    """Return whether a stateful operator is a join, and not one of equal windows, whose rows are final with them."""
    windows = {"window_start = window_start", "window_end = window_end"}
    return state["operator"] == "Join" and not windows <= set(state["condition"])


def _split_condition(plan: Plan, left: Relation, right: Relation) -> tuple[list[_Equality], list[Node]]:
    """Return the equalities between both sides, and the other conjuncts."""
    left_ids, right_ids = (frozenset(map(column_id, side.columns)) for side in (left, right))
    equalities: list[_Equality] = []
    others: list[Node] = []
    for conjunct in join_condition(plan):
        is_equality = class_name(conjunct) in ("EqualTo", "EqualNullSafe") and bool(conjunct.deterministic())
        sides = (conjunct.left(), conjunct.right()) if is_equality else ()
        for mine, theirs in (sides, sides[::-1]) if sides else ():
            if (
                references(mine)
                and references(theirs)
                and references(mine) <= left_ids
                and references(theirs) <= right_ids
            ):
                equalities.append(_Equality(mine, theirs, class_name(conjunct) == "EqualNullSafe"))
                break
        else:
            others.append(conjunct)
    return equalities, others


def _condition(equalities: Sequence[_Equality], others: Sequence[Node]) -> list[Node]:
    return [*(side for e in equalities for side in (e.left, e.right)), *others]


def _rows(
    catalyst: Catalyst,
    relation: Relation,
    kept: Sequence[Attribute],
    prefix: str,
    keys: Sequence[Node],
    equalities: Sequence[_Equality],
) -> DataFrame:
    """Return the columns that the state keeps of a side, its key, and what else the operator needs."""
    assert relation.row_kind is not None
    values = catalyst.columns(keys)
    can_match = F.lit(True)
    for value, equality in zip(values, equalities, strict=True):
        if not equality.is_null_safe:
            can_match = can_match & value.isNotNull()
    order: Column = F.lit(0) if relation.row_order is None else catalyst.column(relation.row_order)
    return catalyst.dataframe(relation.plan).select(
        *(catalyst.column(column).alias(f"{prefix}{i}") for i, column in enumerate(kept)),
        *(value.alias(f"k{i}") for i, value in enumerate(values)),
        can_match.alias(_CAN_MATCH),
        catalyst.column(relation.row_kind).alias(ROW_KIND_NAME),
        order.cast("bigint").alias(ROW_ORDER_NAME),
    )


def _identify(
    relation: Relation, join_type: str, left: Relation, right: Relation, equalities: Sequence[_Equality]
) -> Relation:
    """Return the result with the columns that identify its rows."""
    ids = frozenset(map(column_id, relation.columns))
    is_left_unique = _is_unique(left, [e.left for e in equalities])
    is_right_unique = _is_unique(right, [e.right for e in equalities])
    if join_type in _ONE_SIDED or (is_right_unique and join_type in ("INNER", "LEFT")):
        key, fixed = left.key, left.fixed
    elif is_left_unique and join_type in ("INNER", "RIGHT"):
        key, fixed = right.key, right.fixed
    else:
        key = None if left.key is None or right.key is None else (*left.key, *right.key)
        fixed = left.fixed | right.fixed
    if key is None:
        return replace(relation, is_unordered=True)
    if join_type == "INNER":
        key = _add_equal_columns(key, equalities)
    is_unordered = not equalities or not all(is_fixed(e.left, fixed) or is_fixed(e.right, fixed) for e in equalities)
    return replace(relation, key=tuple(part & ids for part in key), fixed=fixed & ids, is_unordered=is_unordered)


def _is_unique(relation: Relation, keys: Sequence[Node]) -> bool:
    """Return whether a side has at most one row with given values of expressions."""
    columns = {column for key in keys if (column := key_column(key)) is not None}
    return relation.key is not None and all(part & columns for part in relation.key)


def _add_equal_columns(key: Key, equalities: Sequence[_Equality]) -> Key:
    """Return a key in which each part has the columns that are equal to it, too."""
    pairs = [(key_column(e.left), key_column(e.right)) for e in equalities]
    return tuple(
        part
        | {b for a, b in pairs if a in part and b is not None}
        | {a for a, b in pairs if b in part and a is not None}
        for part in key
    )
