"""Random expressions, predicates and aggregate functions over columns.

Only those that Spark and Flink compute alike: no division, no AVG of integers, no string literals of several lengths.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

from tests.generated_queries.queries import Expression
from tests.generated_queries.tables import BIGINT, BOOLEAN, DECIMAL, INT, STRING, TIMESTAMP

Columns = Sequence[Expression]  # plain references

_NUMBERS: Final = (INT, BIGINT, DECIMAL)
_LITERALS: Final = {
    INT: ("0", "1", "2"),
    BIGINT: ("0", "1", "5"),
    DECIMAL: ("0", "1.5", "1.25"),
    STRING: ("'a'", "'b'", "''"),
}
_FORMS: Final[dict[str, tuple[str, ...]]] = {
    INT: ("{} + 1", "MOD({}, 2)", "COALESCE({}, 0)", "ABS({})", "-{}", "NULLIF({}, 1)"),
    BIGINT: ("{} + 1", "COALESCE({}, 0)", "{} * 2", "NULLIF({}, 0)"),
    STRING: ("UPPER({})", "COALESCE({}, 'a')", "{} || 'x'", "NULLIF({}, 'a')"),
    DECIMAL: ("CAST({} + 1.5 AS DECIMAL(18, 4))", "-{}", "ABS({})"),
    TIMESTAMP: (),
    BOOLEAN: ("NOT {}",),
}


def expression(rng: random.Random, columns: Columns) -> Expression:
    """Return a column, or an expression over one or two."""
    column = rng.choice(columns)
    choice = rng.random()
    if choice < 0.65:
        return column
    if choice < 0.75:
        others = of_type(columns, column.type)
        return _of(
            f"CASE WHEN {predicate(rng, columns).text} THEN {column.text} ELSE {rng.choice(others).text} END", column
        )
    if choice < 0.8:
        return Expression(f"({predicate(rng, columns).text})", BOOLEAN)
    if choice < 0.85 and (strings := of_type(columns, STRING)):
        return Expression(f"CHAR_LENGTH({rng.choice(strings).text})", INT)
    forms = _FORMS[column.type]
    return _of(rng.choice(forms).format(column.text), column) if forms else column


def _of(text: str, column: Expression) -> Expression:
    return Expression(text, column.type)


def predicate(rng: random.Random, columns: Columns) -> Expression:
    """Return a condition over columns, without a subquery."""
    choice = rng.random()
    if choice < 0.1:
        return Expression(f"NOT ({predicate(rng, columns).text})", BOOLEAN)
    if choice < 0.2:
        return Expression(f"({predicate(rng, columns).text} OR {predicate(rng, columns).text})", BOOLEAN)
    column = rng.choice(columns)
    if choice < 0.3 and column.is_nullable:
        return Expression(f"{column.text} IS {rng.choice(('', 'NOT '))}NULL", BOOLEAN)
    others = [other for other in comparable(columns, column) if other != column]
    operator = rng.choice(("=", "<>", "<", "<=", ">", ">="))
    if others and choice < 0.5:
        return Expression(f"{column.text} {operator} {rng.choice(others).text}", BOOLEAN)
    if column.type == BOOLEAN:
        return column
    if column.type not in _LITERALS:
        return Expression(f"{column.text} IS NOT NULL", BOOLEAN)
    literals = _LITERALS[column.type]
    forms: list[Callable[[], str]] = [
        lambda: f"{column.text} {operator} {rng.choice(literals)}",
        lambda: f"{column.text} {rng.choice(('', 'NOT '))}IN ({literals[0]}, {literals[1]})",
        lambda: f"{column.text} BETWEEN {literals[0]} AND {literals[1]}",
    ]
    if column.type == STRING:
        forms.append(lambda: f"{column.text} LIKE 'a%'")
    return Expression(rng.choice(forms)(), BOOLEAN)


def equality(rng: random.Random, left: Columns, right: Columns) -> Expression | None:
    """Return an equality of a column of each side; None if no types match."""
    pairs = [(a, b) for a in left for b in comparable(right, a) if a.type != BOOLEAN]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    operator = "IS NOT DISTINCT FROM" if rng.random() < 0.1 else "="
    return Expression(f"{a.text} {operator} {b.text}", BOOLEAN)


def aggregate(rng: random.Random, columns: Columns) -> Expression:
    """Return an aggregate function."""
    if rng.random() < 0.25:
        return Expression(f"COUNT(*){_filter(rng, columns)}", BIGINT, is_nullable=False)
    column = rng.choice(columns)
    distinct = "DISTINCT " if rng.random() < 0.2 else ""
    if column.type in _NUMBERS and rng.random() < 0.5:
        return _sum(rng, columns, column, distinct)
    if column.type == BOOLEAN or rng.random() < 0.3:
        return Expression(f"COUNT({distinct}{column.text}){_filter(rng, columns)}", BIGINT, is_nullable=False)
    return _of(f"{rng.choice(('MIN', 'MAX'))}({column.text}){_filter(rng, columns)}", column)


def _sum(rng: random.Random, columns: Columns, column: Expression, distinct: str) -> Expression:
    """Return SUM or AVG, cast to the same type in Spark and Flink."""
    condition = _filter(rng, columns)
    if rng.random() < 0.3:
        return Expression(f"CAST(AVG({distinct}CAST({column.text} AS {DECIMAL})){condition} AS {DECIMAL})", DECIMAL)
    type = DECIMAL if column.type == DECIMAL else BIGINT
    return Expression(f"CAST(SUM({distinct}{column.text}){condition} AS {type})", type)


def _filter(rng: random.Random, columns: Columns) -> str:
    return f" FILTER (WHERE {predicate(rng, columns).text})" if rng.random() < 0.1 else ""


def having(rng: random.Random, columns: Columns) -> Expression:
    """Return a condition over an aggregate function."""
    result = aggregate(rng, columns)
    if result.type in _LITERALS and rng.random() < 0.6:
        return Expression(f"{result.text} >= {rng.choice(_LITERALS[result.type])}", BOOLEAN)
    return Expression(f"COUNT(*) {rng.choice(('>', '<=', '='))} {rng.choice('123')}", BOOLEAN)


def of_type(columns: Columns, type: str) -> list[Expression]:
    """Return the columns of a type."""
    return [column for column in columns if column.type == type]


def comparable(columns: Columns, column: Expression) -> list[Expression]:
    """Return the columns that can be compared with one; INT with BIGINT, too."""
    integers = (INT, BIGINT)
    return [c for c in columns if c.type == column.type or (c.type in integers and column.type in integers)]


def over(rng: random.Random, columns: Columns, time: Expression) -> list[Expression]:
    """Return aggregate functions over the rows until each row, by time, all with the same frame."""
    partition = ", ".join(["{h}", *(column.text for column in rng.sample(list(columns), rng.choice((0, 1))))])
    start = rng.choice(("UNBOUNDED", "INTERVAL '10' SECOND"))
    frame = f"ORDER BY {time.text} RANGE BETWEEN {start} PRECEDING AND CURRENT ROW"
    results = []
    for column in rng.sample(list(columns), min(2, len(columns))):
        window = f"OVER (PARTITION BY {partition} {frame})"
        if column.type in _NUMBERS and rng.random() < 0.6:
            type = DECIMAL if column.type == DECIMAL else BIGINT
            results.append(Expression(f"CAST(SUM({column.text}) {window} AS {type})", type))
        elif column.type == BOOLEAN or rng.random() < 0.3:
            results.append(Expression(f"COUNT({column.text}) {window}", BIGINT))
        else:
            results.append(_of(f"{rng.choice(('MIN', 'MAX'))}({column.text}) {window}", column))
    return results


def row_number(rng: random.Random, columns: Columns) -> Expression:
    """Return the number of a row in a partition, in an order in which only equal rows have ties."""
    partition = ", ".join(["{h}", *(column.text for column in rng.sample(list(columns), rng.choice((0, 1))))])
    order = ", ".join(
        f"{column.text} {rng.choice(('ASC', 'DESC'))}" for column in rng.sample(list(columns), len(columns))
    )
    return Expression(f"ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {order})", BIGINT, is_nullable=False)


def between_times(rng: random.Random, left: Expression, right: Expression) -> Expression:
    """Return the condition of an interval join."""
    before, after = (f"INTERVAL '{rng.choice((2, 5, 10))}' SECOND" for _ in range(2))
    return Expression(f"{left.text} BETWEEN {right.text} - {before} AND {right.text} + {after}", BOOLEAN)
