"""Group and join by ``window_time`` where a query groups or joins by the start and the end of windows.

``window_time`` is the event time by which Spark closes a window, and has the same value for all rows of a window.
Flink's queries need not select it, and may rename the columns of a window, also in a view::

    SELECT s, count(*) FROM (SELECT window_start AS s, window_end AS e FROM TABLE(TUMBLE(...))) GROUP BY s, e

So it is added to the plan: to the GROUP BY or the condition, and to all operators between these and the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
    join_condition,
    output,
)
from kafka_sql.sql.jobs.changelog.join import join_type_of

START, END, TIME = "window_start", "window_end", "window_time"  # the columns that the subquery of a window adds
# operators that return the columns of their input
_PASSING: Final = frozenset({"EventTimeWatermark", "Filter", "Generate", "ResolvedHint", "SubqueryAlias", "View"})


class _Exposed(NamedTuple):
    """A plan that returns the event time of a window."""

    plan: Plan
    time: Attribute


def close_windows(rows: DataFrame) -> DataFrame:
    """Return a stream whose aggregates and joins of windows have their event time. Needs a classic session."""
    catalyst, plan = Catalyst(rows.sparkSession), analyzed_plan(rows)
    closed = catalyst.rewrite_streams(plan, partial(_close, catalyst))
    return rows if closed is plan else catalyst.dataframe(closed)


def _close(catalyst: Catalyst, plan: Plan) -> Plan:
    if class_name(plan) == "Aggregate":
        return _close_aggregate(catalyst, plan)
    if class_name(plan) == "Join" and all(child.isStreaming() for child in elements(plan.children())):
        return _close_join(catalyst, plan)
    return plan


def _close_aggregate(catalyst: Catalyst, plan: Plan) -> Plan:
    keys = [key for key in elements(plan.groupingExpressions()) if class_name(key) == "AttributeReference"]
    if any(map(is_event_time, keys)):
        return plan
    times = {_window_column(plan.child(), column_id(key)): key for key in keys}
    if START not in times or END not in times:
        return plan
    exposed = _expose(catalyst, plan.child(), column_id(times[END]))
    if exposed is None:
        return plan
    groupings = [exposed.time, *elements(plan.groupingExpressions())]
    return catalyst.aggregate(groupings, elements(plan.aggregateExpressions()), exposed.plan)


def _close_join(catalyst: Catalyst, plan: Plan) -> Plan:
    condition = join_condition(plan)
    sides = [plan.left(), plan.right()]
    ids = [frozenset(map(column_id, output(side))) for side in sides]
    pairs = [pair for part in condition if (pair := _equal_columns(part, ids)) is not None]
    if any(is_event_time(left) and is_event_time(right) for left, right in pairs):
        return plan
    for left, right in pairs:
        if any(_window_column(side, column_id(c)) != END for side, c in zip(sides, (left, right), strict=True)):
            continue
        exposed = [_expose(catalyst, side, column_id(c)) for side, c in zip(sides, (left, right), strict=True)]
        if exposed[0] is not None and exposed[1] is not None:
            equal = catalyst.equal(exposed[0].time, exposed[1].time)
            join = _anti_join if join_type_of(plan) == "ANTI" else Catalyst.join
            joined = join(catalyst, plan, exposed[0].plan, exposed[1].plan, [*condition, equal])
            return catalyst.project(output(plan), joined)
    return plan


def _anti_join(catalyst: Catalyst, plan: Plan, left: Plan, right: Plan, condition: Sequence[Node]) -> Plan:
    """Return an anti join as a LEFT JOIN of which only the rows without a match are kept.

    Spark's streams have no anti joins. The watermark ends the wait for a match.
    """
    marked = analyzed_plan(catalyst.dataframe(right).select("*", F.lit(True).alias("__is_match")))
    joined = catalyst.left_join(plan, left, marked, condition)
    return catalyst.filter([catalyst.is_null(output(marked)[-1])], joined)


def _equal_columns(condition: Node, ids: Sequence[frozenset[int]]) -> tuple[Attribute, Attribute] | None:
    """Return the column of each side if a condition is that they are equal."""
    sides = elements(condition.children()) if class_name(condition) == "EqualTo" else []
    if [class_name(side) for side in sides] != ["AttributeReference"] * 2:
        return None
    for left, right in (sides, sides[::-1]):
        if column_id(left) in ids[0] and column_id(right) in ids[1]:
            return left, right
    return None


def _window_column(plan: Plan, id: int) -> str | None:
    """Return which column of a window a column is, or None."""
    item = _definition(plan, id)
    if item is None:
        child = _child_with(plan, id)
        return None if child is None else _window_column(child, id)
    name = str(item.name())
    if class_name(plan) == "Project" and name in (START, END) and _window_time(plan) is not None:
        return name
    source = item.child() if class_name(item) == "Alias" else item
    return _window_column(plan.child(), column_id(source)) if class_name(source) == "AttributeReference" else None


def _definition(plan: Plan, id: int) -> Node | None:
    """Return the item of a projection or an aggregate with an id."""
    items = {"Project": "projectList", "Aggregate": "aggregateExpressions"}.get(class_name(plan))
    named = elements(getattr(plan, items)()) if items is not None else []
    return next((item for item in named if column_id(item) == id), None)


def _child_with(plan: Plan, id: int) -> Plan | None:
    """Return the input from which an operator passes a column on."""
    if class_name(plan) not in _PASSING and class_name(plan) != "Join":
        return None
    return next((child for child in elements(plan.children()) if id in map(column_id, output(child))), None)


def _window_time(plan: Plan) -> Attribute | None:
    """Return the event time that the subquery of a window adds."""
    times = [item for item in elements(plan.projectList()) if str(item.name()) == TIME and class_name(item) == "Alias"]
    return times[0].toAttribute() if len(times) == 1 and is_event_time(times[0]) else None


def _expose(catalyst: Catalyst, plan: Plan, id: int) -> _Exposed | None:
    """Return a plan that returns the event time of the window to which one of its columns belongs."""
    item = _definition(plan, id)
    if item is None:
        child = _child_with(plan, id)
        exposed = None if child is None else _expose(catalyst, child, id)
        if exposed is None:
            return None
        children = [exposed.plan if id in map(column_id, output(c)) else c for c in elements(plan.children())]
        return _Exposed(catalyst.with_inputs(plan, children), exposed.time)
    if class_name(plan) == "Project" and str(item.name()) == END and (time := _window_time(plan)) is not None:
        return _Exposed(plan, time)
    source = item.child() if class_name(item) == "Alias" else item
    if class_name(plan) == "Aggregate":
        return _expose_in_aggregate(catalyst, plan)
    exposed = _expose(catalyst, plan.child(), column_id(source))
    if exposed is None:
        return None
    items = elements(plan.projectList())
    if not any(column_id(other) == column_id(exposed.time) for other in items):
        items.append(exposed.time)
    return _Exposed(catalyst.project(items, exposed.plan), exposed.time)


def _expose_in_aggregate(catalyst: Catalyst, plan: Plan) -> _Exposed | None:
    """Return an aggregate, which groups by the event time, with this time as a column."""
    groupings, items = elements(plan.groupingExpressions()), elements(plan.aggregateExpressions())
    time = next((key for key in groupings if class_name(key) == "AttributeReference" and is_event_time(key)), None)
    if time is None:
        return None
    if not any(column_id(item) == column_id(time) for item in items):
        items.append(time)
    return _Exposed(catalyst.aggregate(groupings, items, plan.child()), time)
