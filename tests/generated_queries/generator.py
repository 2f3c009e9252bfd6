"""Random queries over tables."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tests.generated_queries import expressions
from tests.generated_queries.expressions import Columns
from tests.generated_queries.queries import (
    CROSS,
    FULL,
    INNER,
    LEFT,
    RIGHT,
    SESSION,
    UNION_ALL,
    Expression,
    Item,
    Query,
    Select,
    Source,
    Union,
    Window,
)
from tests.generated_queries.tables import BOOLEAN, TIMESTAMP, Table

_MAX_DEPTH = 2


def generate_query(tables: Sequence[Table], seed: int) -> Query:
    """Return a query over some of the tables. Equal tables and seeds give equal queries."""
    schemas = "".join(table.schema() for table in tables)
    return _Generator(random.Random(f"query-{seed}-{schemas}"), tables).query(0)


class _Generator:
    def __init__(self, rng: random.Random, tables: Sequence[Table]) -> None:
        self.rng, self.tables = rng, tables
        self._aliases = self._names = self._ctes = 0

    def query(self, depth: int) -> Query:
        if self.rng.random() < 0.12:
            return self._union(depth)
        if self.rng.random() < 0.1:
            return self._top_rows(depth)
        return self._select(depth)

    def _top_rows(self, depth: int) -> Select:
        """Return the first rows of each partition."""
        query = self._select(depth + 1)
        inner = Source(query, self._alias())
        columns = _references([inner])
        number = Item(expressions.row_number(self.rng, columns), self._name())
        numbered = Select((inner,), (*(Item(column, self._name()) for column in columns), number))
        outer = Source(numbered, self._alias())
        results = _references([outer])
        items = tuple(Item(result, self._name()) for result in (results if self.rng.random() < 0.5 else results[:-1]))
        limit = Expression(f"{results[-1].text} <= {self.rng.choice((1, 2, 3))}", BOOLEAN)
        return Select((outer,), items, (limit,))

    def _union(self, depth: int) -> Query:
        first = self._select(depth + 1)
        selects = [first]
        for _ in range(self.rng.choice((1, 1, 2))):
            other = self._select(depth + 1)
            columns = other.columns()
            if other.is_distinct or other.is_grouped:
                other = Select((Source(other, self._alias()),), ())
            available = _references(other.sources)
            items = []
            for column in first.columns():
                same = expressions.of_type(available, column.type)
                if not same:
                    break
                items.append(Item(self.rng.choice(same), column.name))
            if len(items) == len(first.columns()) and columns:
                selects.append(replace(other, items=tuple(items)))
        operator = self.rng.choice((UNION_ALL, UNION_ALL, UNION_ALL, "UNION", "INTERSECT", "EXCEPT"))
        return Union(tuple(selects), operator) if len(selects) > 1 else first

    def _select(self, depth: int) -> Select:
        rng = self.rng
        sources = self._sources(depth)
        columns = _references(sources)
        where = tuple(expressions.predicate(rng, columns) for _ in range(rng.choice((0, 0, 0, 1, 1))))
        # Flink finds no rows of a subquery that is correlated to COALESCE(a.h, b.h) of a FULL JOIN: COUNT returns 0
        has_scalars = all(source.join != FULL for source in sources[1:])
        if rng.random() < (0.3 if depth == 0 else 0.15):
            where += (self._subquery_predicate(columns, depth, has_scalars),)
        window = [c for c in columns if c.text.endswith(("window_start", "window_end"))]
        if window and len(sources) == 1 and rng.random() < 0.85:
            return self._grouped(sources, columns, where, tuple(window))
        choice = rng.random()
        if choice < 0.45:
            return self._grouped(sources, columns, where, ())
        results = [expressions.expression(rng, columns) for _ in range(rng.randint(1, 4))]
        time = _time(sources)
        if time is not None and len(sources) == 1 and rng.random() < 0.4:
            results += expressions.over(rng, columns, time)
            return Select(tuple(sources), tuple(Item(r, self._name()) for r in dict.fromkeys(results)), where)
        if choice < 0.85 and (source := sources[0].relation) and isinstance(source, Table):
            results += [c for c in columns if c.text in {f"{sources[0].alias}.{name}" for name in source.key}]
        if depth == 0 and has_scalars and rng.random() < 0.1:
            results.append(self._scalar(columns, depth))
        items = tuple(Item(result, self._name()) for result in dict.fromkeys(results))
        return Select(tuple(sources), items, where, is_distinct=rng.random() < 0.12)

    def _grouped(
        self, sources: list[Source], columns: Columns, where: tuple[Expression, ...], window: tuple[Expression, ...]
    ) -> Select:
        rng = self.rng
        keys = [*window, *(rng.choice(columns) for _ in range(rng.choice((0, 1, 1, 2))))]
        if sources[0].window is not None and sources[0].window.function == SESSION and window:
            partition = {f"{sources[0].alias}.{name}" for name in sources[0].window.partition}
            keys = [*window, *(column for column in columns if column.text in partition)]
        elif not window and rng.random() < 0.1:
            keys.append(expressions.expression(rng, columns))
        aggregates = [expressions.aggregate(rng, columns) for _ in range(rng.randint(1, 3))]
        having = (expressions.having(rng, columns),) if rng.random() < 0.25 else ()
        items = tuple(Item(key, self._name()) for key in dict.fromkeys(keys))
        first, second = ({item.name for item in items if rng.random() < 0.5} for _ in range(2))
        sets = (frozenset(first), frozenset(second | {item.name for item in items if item.name not in first}))
        if window or len(items) < 2 or len({*sets}) < 2 or rng.random() < 0.7:
            sets = ()
        else:
            items = tuple(replace(i, expression=replace(i.expression, is_nullable=True)) for i in items)
        return Select(
            tuple(sources),
            items,
            where,
            is_grouped=True,
            aggregates=tuple(Item(aggregate, self._name()) for aggregate in aggregates),
            having=having,
            sets=sets,
        )

    def _sources(self, depth: int) -> list[Source]:
        rng = self.rng
        count = rng.choice((1, 1, 2, 2, 3)) if depth == 0 else rng.choice((1, 1, 1, 2))
        sources = [self._source(depth)]
        while len(sources) < count:
            last = sources[-1]
            source = replace(last, alias=self._alias()) if last.cte and rng.random() < 0.6 else self._source(depth)
            sources.append(self._join(sources, source))
        return sources

    def _join(self, sources: list[Source], source: Source) -> Source:
        rng = self.rng
        left, right = _references(sources), _references([source])
        join = rng.choice((INNER, INNER, INNER, LEFT, LEFT, LEFT, RIGHT, FULL, FULL, CROSS))
        conditions = [expressions.equality(rng, left, right) for _ in range(rng.choice((1, 1, 1, 2)))]
        on = [condition for condition in dict.fromkeys(conditions) if condition is not None]
        windows = [_window_equality(a, b) for a in left for b in right if _are_same_windows(a, b)]
        if source.window and sources[0].window == source.window and windows:
            on += windows
        times = [_time([other]) for other in (*sources, source)]
        if join == INNER and times[0] is not None and times[-1] is not None and rng.random() < 0.4:
            on.append(expressions.between_times(rng, times[-1], times[0]))
        elif join in (INNER, LEFT, RIGHT) and rng.random() < 0.25:
            on.append(expressions.predicate(rng, [*left, *right]))
        if join == CROSS or not on:
            return replace(source, join=CROSS)
        return replace(source, join=join, on=tuple(on))

    def _source(self, depth: int) -> Source:
        rng = self.rng
        if depth < _MAX_DEPTH and rng.random() < 0.3:
            cte = ""
            if rng.random() < 0.3:
                self._ctes += 1
                cte = f"q{self._ctes}"
            return Source(self.query(depth + 1), self._alias(), cte=cte)
        table = rng.choice(self.tables)
        window = self._window(table) if table.time is not None and not table.is_late and rng.random() < 0.35 else None
        return Source(table, self._alias(), window=window)

    def _window(self, table: Table) -> Window:
        function = self.rng.choice(("TUMBLE", "TUMBLE", "HOP", "HOP", "CUMULATE", "CUMULATE", SESSION))
        step = self.rng.choice((5, 10))
        if function == SESSION:
            columns = [column.name for column in table.columns[1:] if column.name != table.time]
            return Window(function, (step,), tuple(self.rng.sample(columns, self.rng.choice((0, 1)))))
        return Window(function, (step,) if function == "TUMBLE" else (step, step * self.rng.choice((2, 3))))

    def _subquery_predicate(self, columns: Columns, depth: int, has_scalars: bool) -> Expression:
        """Return IN, EXISTS or, if ``has_scalars``, a comparison with a scalar subquery."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.25 and has_scalars:
            scalar = self._scalar(columns, depth)
            others = expressions.comparable(columns, scalar)
            if others:
                operator = rng.choice(("=", "<", ">", ">=", "<>"))
                return replace(scalar, text=f"{rng.choice(others).text} {operator} {scalar.text}", type=BOOLEAN)
        not_ = rng.choice(("", "NOT "))
        source, own = self._subquery_source(depth)
        where = tuple(expressions.predicate(rng, own) for _ in range(rng.choice((0, 1))))
        pairs = [(a, b) for a in columns for b in expressions.of_type(own, a.type)]
        if choice < 0.65 and pairs:
            outer, inner = rng.choice(pairs)
            query = Select((source,), (Item(inner, self._name()),), where)
            return Expression(f"{outer.text} {not_}IN {{query}}", BOOLEAN, query=query)
        correlation = expressions.equality(rng, columns, own)
        if correlation is not None:
            where += (correlation,)
        return Expression(f"{not_}EXISTS {{query}}", BOOLEAN, query=Select((source,), (), where))

    def _scalar(self, columns: Columns, depth: int) -> Expression:
        rng = self.rng
        source, own = self._subquery_source(depth)
        where = tuple(expressions.predicate(rng, own) for _ in range(rng.choice((0, 1))))
        if rng.random() < 0.4 and (correlation := expressions.equality(rng, columns, own)) is not None:
            where += (correlation,)
        result = expressions.aggregate(rng, own)
        item = Item(result, self._name())
        query = Select((source,), (), where, is_grouped=True, aggregates=(item,))
        return Expression("{query}", result.type, query=query)

    def _subquery_source(self, depth: int) -> tuple[Source, list[Expression]]:
        if depth == 0 and self.rng.random() < 0.15:
            source = Source(self._select(_MAX_DEPTH), self._alias())
        else:
            source = Source(self.rng.choice(self.tables), self._alias())
        return source, _references([source])

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _name(self) -> str:
        self._names += 1
        return f"c{self._names}"


def _references(sources: Sequence[Source]) -> list[Expression]:
    """Return the columns of relations as expressions. A side of an outer join may be NULL."""
    result: list[Expression] = []
    for i, source in enumerate(sources):
        follows = {other.join for other in sources[i + 1 :]}
        is_optional = (i > 0 and source.join in (LEFT, FULL)) or bool(follows & {RIGHT, FULL})
        result += [
            Expression(f"{source.alias}.{column.name}", column.type, column.is_nullable or is_optional)
            for column in source.columns()
        ]
    return result


def _time(sources: Sequence[Source]) -> Expression | None:
    """Return the event time of the first source, if it is a table whose rows are never late."""
    table = sources[0].relation
    if not isinstance(table, Table) or table.time is None or table.is_late or sources[0].window is not None:
        return None
    return Expression(f"{sources[0].alias}.{table.time}", TIMESTAMP, is_nullable=False)


def _are_same_windows(a: Expression, b: Expression) -> bool:
    name = a.text.partition(".")[2]
    return name in ("window_start", "window_end") and b.text.partition(".")[2] == name


def _window_equality(a: Expression, b: Expression) -> Expression:
    return Expression(f"{a.text} = {b.text}", BOOLEAN)
