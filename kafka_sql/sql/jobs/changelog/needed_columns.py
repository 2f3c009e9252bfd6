"""Find the columns of joins and windows that a query uses, so that their state keeps no others."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_sql.spark.catalyst import Plan, class_name, column_id, elements, join_condition, output
from kafka_sql.sql.jobs.changelog.relation import all_references, references


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
