"""Find the event time of the windows by which rows are partitioned, ``window_time``. A query need not select it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.spark.catalyst import (
    Attribute,
    Catalyst,
    Node,
    Plan,
    class_name,
    column_id,
    elements,
    is_event_time,
    output,
)

_BOUNDS: Final = frozenset({"window_start", "window_end"})
_SAME_COLUMNS: Final = ("Filter", "ResolvedHint", "SubqueryAlias", "View")


def find_window_time(catalyst: Catalyst, plan: Plan, keys: Sequence[Node]) -> tuple[Plan, Attribute] | None:
    """Return a plan with the event time of its windows as a further column, and this column.

    Args:
        keys: expressions over the plan's columns.

    Returns:
        None if they do not include the start and the end of a window that the watermark closes.
    """
    ids = frozenset(column_id(key) for key in keys if class_name(key) == "AttributeReference")
    return _expose(catalyst, plan, ids) if len(ids) >= len(_BOUNDS) else None


def _expose(catalyst: Catalyst, plan: Plan, ids: frozenset[int]) -> tuple[Plan, Attribute] | None:
    columns = output(plan)
    times = [column for column in columns if str(column.name()) == "window_time" and is_event_time(column)]
    if times and {str(column.name()) for column in columns if column_id(column) in ids} >= _BOUNDS:
        return plan, times[0]
    match class_name(plan):
        case "Project":
            return _expose_in_project(catalyst, plan, ids)
        case "Aggregate":
            return _expose_in_aggregate(catalyst, plan, ids)
        case name if name in _SAME_COLUMNS:
            found = _expose(catalyst, plan.child(), ids)
            return found and (catalyst.with_inputs(plan, [found[0]]), found[1])
    return None


def _expose_in_project(catalyst: Catalyst, plan: Plan, ids: frozenset[int]) -> tuple[Plan, Attribute] | None:
    items = elements(plan.projectList())
    found = _expose(catalyst, plan.child(), _sources(items, ids))
    if found is None:
        return None
    child, time = found
    for item, column in zip(items, output(plan), strict=True):
        if _source(item) == column_id(time):
            return catalyst.project(items, child), column
    return catalyst.project([*items, time], child), time


def _expose_in_aggregate(catalyst: Catalyst, plan: Plan, ids: frozenset[int]) -> tuple[Plan, Attribute] | None:
    keys = [key for key in elements(plan.groupingExpressions()) if class_name(key) == "AttributeReference"]
    items = elements(plan.aggregateExpressions())
    sources = _sources(items, ids)
    times = [key for key in keys if str(key.name()) == "window_time" and is_event_time(key)]
    if not times or not {str(key.name()) for key in keys if column_id(key) in sources} >= _BOUNDS:
        return None
    groupings = elements(plan.groupingExpressions())
    return catalyst.aggregate(groupings, [*items, times[0]], plan.child()), times[0]


def _sources(items: Sequence[Node], ids: frozenset[int]) -> frozenset[int]:
    """Return the ids of the input's columns that columns of a result are."""
    sources = (_source(item) for item in items if column_id(item) in ids)
    return frozenset(source for source in sources if source is not None)


def _source(item: Node) -> int | None:
    while class_name(item) == "Alias":
        item = item.child()
    return column_id(item) if class_name(item) == "AttributeReference" else None
