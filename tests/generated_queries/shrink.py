"""Smaller queries and histories that still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tests.generated_queries.queries import (
    INNER,
    Expression,
    Item,
    Query,
    Select,
    Source,
    Union,
    sql,
    tables,
)
from tests.generated_queries.tables import Change, Table, World

Fails = Callable[[World, Query], bool]
T = TypeVar("T")


def shrink(world: World, query: Query, fails: Fails, trials: int = 100) -> tuple[World, Query]:
    """Return a smaller world and query that still fail, after a number of trials at most.

    Args:
        world: the tables and histories.
        query: the query that fails.
        fails: whether a query fails over a world; it is called once per trial.
        trials: the maximum number of calls.
    """
    left = [trials]

    def still_fails(world: World, query: Query) -> bool:
        left[0] -= 1
        return left[0] >= 0 and fails(world, query)

    world = _without_unused_tables(world, query)
    world = _shrink_histories(world, lambda smaller: still_fails(smaller, query))
    is_smaller = True
    while is_smaller and left[0] > 0:
        is_smaller = False
        for smaller in smaller_queries(query):
            if still_fails(world, smaller):
                query, is_smaller = smaller, True
                break
    world = _without_unused_tables(world, query)
    return _shrink_changes(world, lambda smaller: still_fails(smaller, query)), query


def smaller_queries(query: Query) -> Iterator[Query]:
    """Yield smaller queries that are valid, those that lack most first."""
    found: dict[str, Query] = {}
    for smaller in _variants(query):
        repaired = repair(smaller)
        if repaired is not None:
            found.setdefault(sql(repaired), repaired)
    length = len(sql(query))
    yield from (found[text] for text in sorted(found, key=len) if len(text) < length)


def repair(query: Query, outer: frozenset[tuple[str, str]] = frozenset()) -> Query | None:
    """Remove what uses columns that do not exist; None if nothing remains.

    Args:
        query: the query.
        outer: alias and name of the columns to which it may be correlated.
    """
    if isinstance(query, Union):
        selects = tuple(repair(select) for select in query.selects)
        kinds = {tuple(c.type for c in s.columns()) if isinstance(s, Select) else None for s in selects}
        if None in kinds or len(kinds) > 1:
            return None
        return replace(query, selects=tuple(select for select in selects if isinstance(select, Select)))
    sources: list[Source] = []
    available = set(outer)
    for source in query.sources:
        relation = source.relation if isinstance(source.relation, Table) else repair(source.relation)
        if relation is None:
            continue
        source = replace(source, relation=relation, cte=source.cte if relation == source.relation else "")
        available |= {(source.alias, column.name) for column in source.columns()}
        sources.append(replace(source, on=_valid(source.on, available)))
    items, aggregates = (_valid_items(part, available) for part in (query.items, query.aggregates))
    if not sources or (query.is_grouped and not aggregates and query.aggregates):
        return None
    if not items and not aggregates and query.items:
        return None
    where, having = _valid(query.where, available), _valid(query.having, available)
    return replace(query, sources=tuple(sources), items=items, aggregates=aggregates, where=where, having=having)


def _valid(expressions: Sequence[Expression], available: set[tuple[str, str]]) -> tuple[Expression, ...]:
    return tuple(e for e in (_repaired(expression, available) for expression in expressions) if e is not None)


def _valid_items(items: Sequence[Item], available: set[tuple[str, str]]) -> tuple[Item, ...]:
    repaired = [(item, _repaired(item.expression, available)) for item in items]
    return tuple(replace(item, expression=expression) for item, expression in repaired if expression is not None)


def _repaired(expression: Expression, available: set[tuple[str, str]]) -> Expression | None:
    if not expression.references() <= available:
        return None
    if expression.query is None:
        return expression
    query = repair(expression.query, frozenset(available))
    needs_column = bool(expression.query.columns())
    if not isinstance(query, Select) or (needs_column and not query.columns()):
        return None
    return replace(expression, query=query)


def _variants(query: Query) -> Iterator[Query]:
    """Yield queries with one thing less, which may be invalid."""
    if isinstance(query, Union):
        yield from query.selects
        yield from (replace(query, selects=selects) for selects in _without_one(query.selects) if len(selects) > 1)
        for i, select in enumerate(query.selects):
            for variant in _variants(select):
                if isinstance(variant, Select):
                    yield replace(query, selects=(*query.selects[:i], variant, *query.selects[i + 1 :]))
        return
    yield from (source.relation for source in query.sources if not isinstance(source.relation, Table))
    for sources in _without_one(query.sources):
        if sources:
            yield replace(query, sources=sources)
    for i, source in enumerate(query.sources):
        for smaller in _smaller_sources(source):
            yield replace(query, sources=(*query.sources[:i], smaller, *query.sources[i + 1 :]))
    yield from (replace(query, where=where) for where in _without_one(query.where))
    yield from (replace(query, having=having) for having in _without_one(query.having))
    yield from (replace(query, aggregates=aggregates) for aggregates in _without_one(query.aggregates) if aggregates)
    yield from (replace(query, items=items) for items in _without_one(query.items) if items or query.is_grouped)
    if query.is_distinct:
        yield replace(query, is_distinct=False)
    if query.sets:
        yield replace(query, sets=())
    for i, item in enumerate(query.items):
        for plain in _simpler(item.expression, query.sources):
            yield replace(query, items=(*query.items[:i], replace(item, expression=plain), *query.items[i + 1 :]))
    for i, condition in enumerate(query.where):
        if condition.query is not None:
            for inner in _variants(condition.query):
                if isinstance(inner, Select) and _types(inner) == _types(condition.query):
                    smaller_condition = replace(condition, query=inner)
                    yield replace(query, where=(*query.where[:i], smaller_condition, *query.where[i + 1 :]))


def _types(query: Query) -> list[str]:
    return [column.type for column in query.columns()]


def _smaller_sources(source: Source) -> Iterator[Source]:
    yield from (replace(source, on=on) for on in _without_one(source.on) if on)
    if source.join != INNER:
        yield replace(source, join=INNER)
    if source.window is not None:
        yield replace(source, window=None)
    if isinstance(source.relation, Table):
        return
    if isinstance(source.relation, Select) and len(source.relation.sources) == 1:
        # the relation below, whose columns have other names: what uses them is dropped
        yield replace(source.relation.sources[0], alias=source.alias, join=source.join, on=source.on)
    for relation in _variants(source.relation):
        yield replace(source, relation=relation)


def _simpler(expression: Expression, sources: Sequence[Source]) -> Iterator[Expression]:
    """Yield the columns of the same type that an expression uses."""
    columns = {(source.alias, column.name): column for source in sources for column in source.columns()}
    for alias, name in sorted(expression.references() & columns.keys()):
        text = f"{alias}.{name}"
        if expression.text != text and columns[alias, name].type == expression.type:
            yield Expression(text, expression.type)


def _without_one(parts: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    yield from (parts[:i] + parts[i + 1 :] for i in range(len(parts)))


def _without_unused_tables(world: World, query: Query) -> World:
    used = {table.name for table in tables(query)}
    return World(
        tuple(table for table in world.tables if table.name in used),
        tuple(change for change in world.history if change.table in used),
    )


def _shrink_histories(world: World, fails: Callable[[World], bool]) -> World:
    """Return a world with fewer histories that fails."""
    numbers = sorted({change.history for change in world.history if change.history >= 0})
    while len(numbers) > 1:
        half = len(numbers) // 2
        for part in (numbers[:half], numbers[half:]):
            if fails(world.of_histories(part)):
                numbers = part
                break
        else:
            break
    return world.of_histories(numbers)


def _shrink_changes(world: World, fails: Callable[[World], bool]) -> World:
    """Drop changes at the end and of whole rows while it fails, so that each update still has its old row."""
    history, step = list(world.history), max(len(world.history) // 2, 1)
    while step:
        end = sum(change.history >= 0 for change in history)
        shorter = history[: max(end - step, 0)] + history[end:]
        if step < end and fails(World(world.tables, tuple(shorter))):
            history = shorter
        else:
            step //= 2
    return World(world.tables, tuple(_drop_changes(world, history, fails)))


def _drop_changes(world: World, history: list[Change], fails: Callable[[World], bool]) -> list[Change]:
    """Drop the insert and delete of a row, or a change that no other one needs, one after another."""
    i = 0
    while i < len(history):
        dropped = _removable(history, i)
        shorter = [change for j, change in enumerate(history) if j not in dropped]
        if dropped and fails(World(world.tables, tuple(shorter))):
            history = shorter
        else:
            i += 1
    return history


def _removable(history: Sequence[Change], i: int) -> set[int]:
    """Return the positions of a change, and of the delete of the row that it inserts; empty if the row is updated."""
    change = history[i]
    if change.history < 0 or change.before is not None:
        return {i} if change.after is None and change.history >= 0 else set()
    later = [j for j in range(i + 1, len(history)) if _is_next(history[j], change)]
    return {i} if not later else {i, later[0]} if history[later[0]].after is None else set()


def _is_next(later: Change, change: Change) -> bool:
    return later.table == change.table and later.before == change.after
