"""Find event-time temporal joins of streams in analyzed plans: each row joins the version of a table at its time.

The right side of such a join has the mark of ``versions.stream_versions``. Spark's own join would ignore the time.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from kafka_sql.spark.catalyst import (
    Attribute,
    Catalyst,
    Node,
    Plan,
    class_name,
    join_condition,
)
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.rewrite.versions import StreamMark, read_mark


@dataclass(frozen=True)
class TemporalJoin:
    """An event-time temporal join in a plan."""

    left: Plan  # the plan of the left table
    versions: Plan  # the plan of the versioned table
    mark: StreamMark  # its mark, with the name of the left table's time
    time: Attribute | None  # its column; None if the left table has no such column
    condition: Sequence[Node]  # the conjuncts of ON
    is_outer: bool  # whether it is a LEFT JOIN

    @property
    def time_name(self) -> str:
        """The name of the left table's time."""
        return ".".join(self.mark.time)


def find_temporal_join(catalyst: Catalyst, plan: Plan) -> TemporalJoin | None:
    """Return the temporal join that an operator is; None if it is another operator."""
    if class_name(plan) != "Join":
        return None
    mark, right = None, plan.right()
    while mark is None and class_name(right) in ("SubqueryAlias", "Project"):
        mark = read_mark(str(right.alias())) if class_name(right) == "SubqueryAlias" else None
        right = right.child()
    if mark is None:
        return None
    time = catalyst.find_column(plan.left(), mark.time)
    is_outer = str(plan.joinType().sql()) == "LEFT OUTER"
    return TemporalJoin(plan.left(), plan.right(), mark, time, join_condition(plan), is_outer)


def has_temporal_join(plan: Operator) -> bool:
    """Return whether a plan has a temporal join."""
    return any(operator.name == "Join" and _has_mark(operator.children[1]) for operator in plan.walk())


def reads_changes(plan: Operator, changelogs: Container[str]) -> bool:
    """Return whether a plan reads changelogs, and not only the versions of temporal joins.

    Args:
        changelogs: the providers of tables with changes.
    """
    if not plan.children:
        return plan.detail in changelogs
    is_temporal = plan.name == "Join" and _has_mark(plan.children[1])
    return any(reads_changes(child, changelogs) for child in (plan.children[:1] if is_temporal else plan.children))


def _has_mark(side: Operator) -> bool:
    while side.name in ("SubqueryAlias", "Project"):
        if side.name == "SubqueryAlias" and read_mark(side.detail) is not None:
            return True
        (side,) = side.children
    return False
