"""Find the Top-N queries of a plan: ``ROW_NUMBER() OVER (...)`` whose values a filter above bounds.

The filter remains in the plan. It is true for all rows that the operator returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_sql.spark.catalyst import Node, Plan, class_name, column_id, conjuncts, elements, output
from kafka_sql.spark.plan import Expression, Operator, resolve
from kafka_sql.sql.jobs.changelog.relation import all_references, references

_LAST_RANK: Final = 2**31 - 2
_MIRRORED: Final = {
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
    "EqualTo": "EqualTo",
}
_WINDOW: Final = "PreciseTimestampConversion"  # Spark's function that computes a window's start and end
_CURRENT_TIMES: Final = ("CurrentTimestamp", "LocalTimestamp", "Now")
_SAME_COLUMNS: Final = ("SubqueryAlias", "View", "ResolvedHint")  # operators that return the columns of their input


@dataclass(frozen=True)
class Ranking:
    """What a query needs of a row number."""

    ranks: range  # the numbers that it filters
    has_rank: bool  # whether it uses the number elsewhere
    needed: frozenset[int] | None  # the ids of the columns that it uses; None for all


@dataclass(frozen=True)
class _Demand:
    """What the operators above need of a plan."""

    needed: frozenset[int] | None = None  # the ids of the columns that they use besides ``bounds``; None for all
    bounds: Mapping[int, range] | None = None  # the values of columns that a filter accepts


@dataclass(frozen=True)
class SortLimit:
    """``ORDER BY ... LIMIT n OFFSET m``: a Top-N of all rows."""

    sort: Plan  # Spark's operator Sort
    projects: Sequence[Plan]  # the operators Project between the limit and it, the last one first
    ranking: Ranking


def is_deduplication(top_n: Operator, ranking: Ranking) -> bool:
    """Return whether a Top-N has one row per key, by a time attribute.

    Args:
        top_n: Spark's operator Window.
    """
    orders = _orders(top_n)
    return ranking.ranks == range(1, 2) and len(orders) == 1 and (_is_event_time(orders[0]) or ends_with_now(top_n))


def has_event_time(top_n: Operator) -> bool:
    """Return whether a Top-N is ordered by an event time."""
    orders = _orders(top_n)
    return bool(orders) and _is_event_time(orders[0])


def ends_with_now(top_n: Operator) -> bool:
    """Return whether the last expression of ORDER BY is a processing time, which is equal for rows of a micro-batch."""
    orders = [resolve(order, top_n.children) for order in _orders(top_n)]
    return bool(orders) and any(part.name in _CURRENT_TIMES for part in orders[-1].walk())


def _orders(top_n: Operator) -> list[Expression]:
    return [order for order in top_n.others if order.name == "SortOrder"]


def _is_event_time(order: Expression) -> bool:
    return order.children[0].is_event_time


def has_updating_top_n(plan: Operator, rankings: Mapping[frozenset[int], Ranking]) -> bool:
    """Return whether a plan has a Top-N whose rows change: not of windows, and not the first row by a time."""
    for operator in plan.walk():
        if operator.name == "GlobalLimit" and _is_sorted(operator):
            return True
        ranking = rankings.get(frozenset(c.id for c in operator.output if c.id is not None))
        if operator.name != "Window" or ranking is None or _is_of_windows(operator):
            continue
        if not is_deduplication(operator, ranking) or _orders(operator)[0].text.startswith("DESC"):
            return True
    return False


def _is_sorted(limit: Operator) -> bool:
    while limit.name in ("GlobalLimit", "LocalLimit", "Offset", "Project"):
        (limit,) = limit.children
    return limit.name == "Sort"


def _is_of_windows(top_n: Operator) -> bool:
    keys = [resolve(key, top_n.children) for key in top_n.others if key.name != "SortOrder"]
    return any(part.name == _WINDOW for key in keys for part in key.walk())


def find_sort_limit(plan: Plan) -> SortLimit | None:
    """Return the limit of sorted rows that an operator is; None if it is another operator."""
    limit, offset, projects = _LAST_RANK, 0, list[Plan]()
    if class_name(plan) != "GlobalLimit":
        return None
    while class_name(plan) != "Sort":
        match class_name(plan):
            case "GlobalLimit" | "LocalLimit":
                value = _literal(plan.limitExpr())
                limit = min(limit, _LAST_RANK if value is None else value)
            case "Offset":
                offset = _literal(plan.offsetExpr()) or 0
            case "Project":
                projects.insert(0, plan)
            case _:
                return None
        plan = plan.child()
    return SortLimit(plan, projects, Ranking(range(offset + 1, offset + limit + 1), False, None))


def find_rankings(plan: Plan) -> dict[frozenset[int], Ranking]:
    """Return the row numbers of a plan that are a Top-N, by the ids of the columns of Spark's operator Window."""
    return dict(_find(plan, _Demand(), {}))


def _find(plan: Plan, demand: _Demand, demands: dict[int, list[_Demand]]) -> Iterator[tuple[frozenset[int], Ranking]]:
    """Yield the rankings of a plan, and add what it needs of common table expressions to ``demands``."""
    if not plan.isStreaming():
        return
    name, bounds = class_name(plan), demand.bounds or {}
    match name:
        case "WithCTE":
            yield from _find(plan.plan(), demand, demands)
            for definition in reversed(elements(plan.cteDefs())):  # one is before those that refer to it
                columns = [column_id(column) for column in output(definition)]
                yield from _find(definition.child(), _merge(columns, demands.get(definition.id(), [])), demands)
            return
        case "CTERelationRef":
            positions = {column_id(column): i for i, column in enumerate(output(plan))}
            needed = demand.needed
            demands.setdefault(plan.cteId(), []).append(
                _Demand(
                    needed if needed is None else frozenset(positions[id] for id in needed if id in positions),
                    {positions[id]: values for id, values in bounds.items() if id in positions},
                )
            )
            return
        case "Window":
            (window, *others) = elements(plan.windowExpressions())
            ids = frozenset(map(column_id, output(plan)))
            number = column_id(window)
            if not others and _is_row_number(window) and number in bounds and bounds[number].stop <= _LAST_RANK:
                is_used = demand.needed is None or number in demand.needed
                needed = None if demand.needed is None else demand.needed | (bounds.keys() - {number})
                yield ids, Ranking(bounds[number], is_used, needed)
            demand = _Demand()
        case "Filter":
            demand = _filter(plan, demand)
        case "Project":
            demand = _project(elements(plan.projectList()), demand)
        case _ if name not in _SAME_COLUMNS:
            demand = _Demand()
    for child in elements(plan.children()):
        yield from _find(child, demand, demands)


def _merge(columns: Sequence[int], demands: Sequence[_Demand]) -> _Demand:
    """Return what all references to a common table expression need together, by ids instead of positions."""
    if not demands:
        return _Demand()
    needed = None
    if all(demand.needed is not None for demand in demands):
        needed = frozenset(columns[i] for demand in demands for i in demand.needed or ())
    bounded = [set(demand.bounds or {}) for demand in demands]
    common = set.intersection(*bounded)
    if needed is not None:  # what only some of them filter is used like other columns
        needed |= {columns[i] for i in set().union(*bounded) - common}
    ranges = {i: [(demand.bounds or {})[i] for demand in demands] for i in common}
    bounds = {columns[i]: range(min(r.start for r in rs), max(r.stop for r in rs)) for i, rs in ranges.items()}
    return _Demand(needed, bounds)


def _filter(plan: Plan, demand: _Demand) -> _Demand:
    bounds, others = dict(demand.bounds or {}), frozenset[int]()
    for condition in conjuncts(plan.condition()):
        bound = _read_bound(condition)
        if bound is None:
            others |= references(condition)
            continue
        column, values = bound
        known = bounds.get(column, range(1, _LAST_RANK + 1))
        bounds[column] = range(max(known.start, values.start), min(known.stop, values.stop))
    return _Demand(demand.needed if demand.needed is None else demand.needed | others, bounds)


def _project(items: Sequence[Node], demand: _Demand) -> _Demand:
    """Return what a projection needs of its input."""
    bounds = demand.bounds or {}
    below = {
        column: bounds[column_id(item)]
        for item in items
        if column_id(item) in bounds and (column := _column(item)) is not None
    }
    used = [item for item in items if _is_used(item, demand)]
    return _Demand(all_references(used), below)


def _is_used(item: Node, demand: _Demand) -> bool:
    """Return whether an item of a projection is used, other than as the bounded column of its input."""
    if demand.needed is None or column_id(item) in demand.needed:
        return True
    return column_id(item) in (demand.bounds or {}) and _column(item) is None


def _read_bound(condition: Node) -> tuple[int, range] | None:
    """Return the column that a condition compares with a constant, and the values that it accepts."""
    operator = class_name(condition)
    if operator == "Between":
        column, first, last = _column(condition.input()), _literal(condition.lower()), _literal(condition.upper())
        return None if column is None or first is None or last is None else (column, range(max(first, 1), last + 1))
    if operator not in _MIRRORED:
        return None
    column, value = _column(condition.left()), _literal(condition.right())
    if column is None:
        operator, column, value = _MIRRORED[operator], _column(condition.right()), _literal(condition.left())
    if column is None or value is None:
        return None
    start = value + (operator == "GreaterThan") if operator.startswith(("Greater", "Equal")) else 1
    stop = value + (operator != "LessThan") if operator.startswith(("Less", "Equal")) else _LAST_RANK + 1
    return column, range(max(start, 1), min(max(stop, 1), _LAST_RANK + 1))


def _column(node: Node) -> int | None:
    """Return the id of a column, also under another name or as another integer type; None for other expressions."""
    while class_name(node) in ("Alias", "Cast"):
        node = node.child()
    is_integer = str(node.dataType().simpleString()) in ("int", "bigint")
    return column_id(node) if class_name(node) == "AttributeReference" and is_integer else None


def _literal(node: Node) -> int | None:
    while class_name(node) == "Cast":
        node = node.child()
    if class_name(node) != "Literal" or str(node.dataType().simpleString()) not in ("int", "bigint"):
        return None
    return None if node.value() is None else int(node.value())


def _is_row_number(window: Node) -> bool:
    return class_name(window) == "Alias" and class_name(window.child().windowFunction()) == "RowNumber"
