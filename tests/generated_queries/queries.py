"""The structure of a generated query, and its SQL, which Spark and Flink accept in the same spelling.

Aliases (``t1``) and names of results (``c1``) are unique in a query. Expressions are text that qualifies each column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from tests.generated_queries.tables import TIMESTAMP, Column, Table

INNER, LEFT, RIGHT, FULL, CROSS = "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"
SESSION: Final = "SESSION"
UNION_ALL: Final = "UNION ALL"
_REFERENCE: Final = re.compile(r"\b(t\d+)\.(\w+)")
_QUERY: Final = "{query}"
_H: Final = "{h}"


@dataclass(frozen=True)
class Expression:
    """An expression.

    Attributes:
        text: SQL. ``{query}`` is the place of ``query``, which is correlated by ``h`` if it is keyed; ``{h}`` is that
            of ``h`` in PARTITION BY.
    """

    text: str
    type: str
    is_nullable: bool = True
    query: Select | None = None

    def references(self) -> set[tuple[str, str]]:
        """Return alias and name of the columns that the expression uses outside ``query``."""
        return set(_REFERENCE.findall(self.text))


@dataclass(frozen=True)
class Item:
    """An expression and its name in the result."""

    expression: Expression
    name: str

    def column(self) -> Column:
        """Return the column of the result."""
        return Column(self.name, self.expression.type, self.expression.is_nullable)


@dataclass(frozen=True)
class Window:
    """A window function over a table with a WATERMARK; times are in seconds.

    Attributes:
        function: TUMBLE, HOP, CUMULATE or SESSION.
        sizes: slide and size of HOP, step and size of CUMULATE, size of TUMBLE, gap of SESSION.
        partition: columns of PARTITION BY of SESSION, besides ``h``.
    """

    function: str
    sizes: tuple[int, ...]
    partition: tuple[str, ...] = ()

    def sql(self, table: Table, is_keyed: bool) -> str:
        """Return the table function of FROM."""
        names = [*(("h",) if is_keyed else ()), *self.partition] if self.function == SESSION else []
        partition = f" PARTITION BY {', '.join(names)}" if names else ""
        intervals = ", ".join(f"INTERVAL '{size}' SECOND" for size in self.sizes)
        return f"TABLE({self.function}(TABLE {table.name}{partition}, DESCRIPTOR({table.time}), {intervals}))"


@dataclass(frozen=True)
class Source:
    """A relation of FROM.

    Attributes:
        join: how it is joined to the ones before; ignored for the first one.
        on: conditions of the join, besides the equality of ``h``.
        cte: the name in WITH; a subquery in FROM if it is empty.
    """

    relation: Table | Query
    alias: str
    join: str = INNER
    on: tuple[Expression, ...] = ()
    window: Window | None = None
    cte: str = ""

    def columns(self) -> tuple[Column, ...]:
        """Return the columns, without ``h``."""
        columns = self.relation.columns[1:] if isinstance(self.relation, Table) else self.relation.columns()
        if self.window is None:
            return columns
        return (*columns, *(Column(f"window_{end}", TIMESTAMP, False) for end in ("start", "end")))


@dataclass(frozen=True)
class Select:
    """A block of SELECT.

    Attributes:
        items: columns of the result, or keys of the groups if ``is_grouped``.
        aggregates: further columns, if ``is_grouped``.
        sets: GROUPING SETS, as names of items; empty if there is one group per key.
    """

    sources: tuple[Source, ...]
    items: tuple[Item, ...]
    where: tuple[Expression, ...] = ()
    is_grouped: bool = False
    aggregates: tuple[Item, ...] = ()
    having: tuple[Expression, ...] = ()
    is_distinct: bool = False
    sets: tuple[frozenset[str], ...] = ()

    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the result, without ``h``."""
        return tuple(item.column() for item in (*self.items, *self.aggregates))


@dataclass(frozen=True)
class Union:
    """UNION ALL, UNION, INTERSECT or EXCEPT of queries that have columns of the same types."""

    selects: tuple[Select, ...]
    operator: str = UNION_ALL

    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the result, without ``h``."""
        per_select = [select.columns() for select in self.selects]
        return tuple(
            Column(columns[0].name, columns[0].type, any(column.is_nullable for column in columns))
            for columns in zip(*per_select, strict=True)
        )


Query = Select | Union


def sql(query: Query, is_keyed: bool = True) -> str:
    """Return the SQL of a query.

    Args:
        query: the query.
        is_keyed: whether all joins, keys and results have ``h``. Otherwise, the tables must have one history.
    """
    writer = _Writer(is_keyed)
    text = writer.relation(query)
    ctes = ", ".join(f"{name} AS ({cte})" for name, cte in writer.ctes.items())
    return f"WITH {ctes} {text}" if ctes else text


def result_columns(query: Query, is_keyed: bool = True) -> tuple[Column, ...]:
    """Return all columns of a query; with ``h`` if it is keyed."""
    return (Column("h", "INT", False), *query.columns()) if is_keyed else query.columns()


def unique_key(query: Query, is_keyed: bool = True) -> tuple[str, ...]:
    """Return columns that identify a row and are not NULL; empty if there are none. They suit an upsert table."""
    if isinstance(query, Union):
        return ()
    names = ("h",) if is_keyed else ()
    if query.sets:
        return ()
    if query.is_grouped and not any(item.expression.is_nullable for item in query.items):
        return (*names, *(item.name for item in query.items))
    source = query.sources[0]
    if query.is_grouped or len(query.sources) > 1 or not isinstance(source.relation, Table) or source.window:
        return ()
    found = {item.expression.text: item.name for item in query.items}
    key = [found.get(f"{source.alias}.{name}", "") for name in source.relation.key if name != "h"]
    return (*names, *key) if key and all(key) else ()


def tables(query: Query) -> tuple[Table, ...]:
    """Return the tables of a query, by name."""
    found = {table.name: table for table, _ in _table_sources(query)}
    return tuple(found[name] for name in sorted(found))


def has_window(query: Query) -> bool:
    """Return whether the query has a window function, so that rows behind the watermark are dropped."""
    return any(source.window for _, source in _table_sources(query))


def _table_sources(query: Query) -> Iterator[tuple[Table, Source]]:
    if isinstance(query, Union):
        for select in query.selects:
            yield from _table_sources(select)
        return
    for source in query.sources:
        if isinstance(source.relation, Table):
            yield source.relation, source
        else:
            yield from _table_sources(source.relation)
    for expression in expressions(query):
        if expression.query is not None:
            yield from _table_sources(expression.query)


def expressions(select: Select) -> Iterator[Expression]:
    """Yield all expressions of a block."""
    yield from (expression for source in select.sources for expression in source.on)
    yield from select.where
    yield from (item.expression for item in (*select.items, *select.aggregates))
    yield from select.having


def _group_by(query: Select, first: list[str], keys: list[str]) -> list[str]:
    """Return the clause GROUP BY; empty if there is one group.

    Args:
        query: the block.
        first: keys of all groups.
        keys: expressions of the items.
    """
    if not query.sets:
        return ["GROUP BY", ", ".join(first + keys)] if first or keys else []
    names = [item.name for item in query.items]
    sets = [
        first + [key for key, name in zip(keys, names, strict=True) if name in names_of_set]
        for names_of_set in query.sets
    ]
    texts = [f"({', '.join(part)})" for part in sets]
    return ["GROUP BY GROUPING SETS", f"({', '.join(texts)})"]


@dataclass
class _Writer:
    is_keyed: bool
    ctes: dict[str, str] = field(default_factory=dict)

    def relation(self, query: Query) -> str:
        if isinstance(query, Union):
            return f" {query.operator} ".join(map(self.relation, query.selects))
        h, from_ = self._from(query.sources)
        if self.is_keyed:
            return self._block(query, from_, [f"{h} AS h"], [h], [], h)
        if query.is_grouped and not query.items:
            # of no rows, a batch returns a row, and a stream returns none
            query = replace(query, having=(*query.having, Expression("COUNT(*) > 0", "BOOLEAN")))
        return self._block(query, from_, [], [], [], h)

    def subquery(self, query: Select, outer_h: str) -> str:
        h, from_ = self._from(query.sources)
        return self._block(query, from_, [], [], [f"{h} = {outer_h}"] if self.is_keyed else [], h)

    def _block(self, query: Select, from_: str, items: list[str], keys: list[str], where: list[str], h: str) -> str:
        """Return a block.

        Args:
            query: the block.
            from_: its FROM.
            items: columns before its own ones.
            keys: keys of groups before its own ones.
            where: conditions before its own ones.
            h: the number of the history, to which subqueries are correlated.
        """
        items = items + [f"{self._text(i.expression, h)} AS {i.name}" for i in (*query.items, *query.aggregates)]
        conditions = where + [self._text(condition, h) for condition in query.where]
        parts = ["SELECT DISTINCT" if query.is_distinct else "SELECT", ", ".join(items) or "1", "FROM", from_]
        if conditions:
            parts += ["WHERE", " AND ".join(conditions)]
        if query.is_grouped:
            parts += _group_by(query, keys, [self._text(item.expression, h) for item in query.items])
        if query.having:
            parts += ["HAVING", " AND ".join(self._text(condition, h) for condition in query.having)]
        return " ".join(parts)

    def _text(self, expression: Expression, h: str) -> str:
        text = expression.text
        if _H in text:
            first = h if self.is_keyed else ""
            text = text.replace(f"{_H}, ", f"{first}, " if first else "").replace(
                f"PARTITION BY {_H} ", f"PARTITION BY {first} " if first else ""
            )
        if expression.query is None:
            return text
        return text.replace(_QUERY, f"({self.subquery(expression.query, h)})")

    def _from(self, sources: tuple[Source, ...]) -> tuple[str, str]:
        """Return the number of the history and the FROM."""
        first, *others = sources
        h, text = f"{first.alias}.h", self._source(first)
        for source in others:
            own = f"{source.alias}.h"
            conditions = [f"{own} = {h}"] if self.is_keyed else []
            conditions += [self._text(condition, h) for condition in source.on]
            join = source.join
            if join == CROSS:
                join = INNER if conditions else CROSS
            elif not conditions:
                conditions = ["TRUE"]
            text += f" {join} {self._source(source)}" + (f" ON {' AND '.join(conditions)}" if conditions else "")
            h = own if join == RIGHT else f"COALESCE({h}, {own})" if join == FULL else h
        return h, text

    def _source(self, source: Source) -> str:
        if isinstance(source.relation, Table):
            name = source.window.sql(source.relation, self.is_keyed) if source.window else source.relation.name
            return f"{name} AS {source.alias}"
        if not source.cte:
            return f"({self.relation(source.relation)}) AS {source.alias}"
        if source.cte not in self.ctes:
            text = self.relation(source.relation)  # may add the CTEs that it uses
            self.ctes[source.cte] = text
        return f"{source.cte} AS {source.alias}"
