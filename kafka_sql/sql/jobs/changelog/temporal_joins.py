"""Find event-time temporal joins of streams in analyzed plans: each row joins the version of a table at its time.

The right side of such a join has the mark of ``versions.stream_versions``. Spark's own join would ignore the time.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from kafka_sql.spark.catalyst import (
    Attribute,
    Catalyst,
    Node,
    Plan,
    class_name,
    column_id,
    elements,
    join_condition,
    output,
)
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.jobs.changelog.relation import all_references, references
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


def find_needed_columns(
    plan: Plan, needed: frozenset[int] | None = None
) -> Iterator[tuple[frozenset[int], frozenset[int] | None]]:
    """Yield, for each join and OVER window, the ids of all its columns and of those that the operators above use.

    Args:
        needed: the ids of the plan's columns that are used; None for all.
    """
    if class_name(plan) in ("Join", "Window"):
        yield frozenset(map(column_id, output(plan))), needed
    match class_name(plan):
        case "Project":
            needed = all_references(elements(plan.projectList()))
        case "Aggregate":
            needed = all_references([*elements(plan.groupingExpressions()), *elements(plan.aggregateExpressions())])
        case "Filter" if needed is not None:
            needed |= references(plan.condition())
        case "Join" if needed is not None:
            needed |= all_references(join_condition(plan))
        case "Window" if needed is not None:
            specifications = [*elements(plan.partitionSpec()), *elements(plan.orderSpec())]
            needed |= all_references([*elements(plan.windowExpressions()), *specifications])
        case "SubqueryAlias" | "View" | "ResolvedHint":
            pass
        case _:
            needed = None
    for child in elements(plan.children()):
        yield from find_needed_columns(child, needed)
