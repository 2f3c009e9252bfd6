"""Parse queries with ``ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...)``, Flink's deduplication and Top-N."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_sql.sql.recognize.query_text import QueryBlock, QueryText


@dataclass(frozen=True)
class Ranking:
    """The row number that a block selects."""

    item: range  # the item in the select list
    name: str  # the name of the row number
    keys: tuple[range, ...]  # the expressions of PARTITION BY
    orders: tuple[range, ...]  # the expressions of ORDER BY, with their directions


def parse_ranking(query: QueryText, block: QueryBlock) -> Ranking | None:
    """Return the row number that a block selects, with a name; None if it selects none."""
    for item in query.split(block.clause("SELECT")):
        if query.words(item[:5]) != ["ROW_NUMBER", "(", ")", "OVER", "("]:
            continue
        start = item.start + 4
        end = query.closing(start)
        if end >= item.stop - 1:
            return None
        is_order = (i for i in range(start, end) if query.word(i) == "ORDER" and query.word(i + 1) == "BY")
        order = next(is_order, end)
        is_partitioned = query.word(start + 1) == "PARTITION"
        keys = query.split(range(start + 3, order)) if is_partitioned else []
        orders = query.split(range(order + 2, end)) if order < end else []
        return Ranking(item, query.tokens[item.stop - 1].name, tuple(keys), tuple(orders))
    return None


def selected_column(query: QueryText, block: QueryBlock, expression: range) -> str:
    """Return the column of a block that has the value of an expression, in lower case; empty if no column has it."""
    if not query.is_name(expression):
        return ""
    return name_if_selected(query, block, query.tokens[expression.stop - 1].name)


def name_if_selected(query: QueryText, block: QueryBlock, name: str) -> str:
    """Return the name of a column in lower case if a block selects the column as it is; otherwise an empty text."""
    name = name.lower()
    items = query.split(block.clause("SELECT"))
    names = [[query.tokens[i].name.lower() for i in item] for item in items]
    columns = [parts for parts in names if set(parts[1::2]) <= {"."}]
    is_selected = any(parts[-1:] in (["*"], [name]) for parts in columns)
    is_other = any(parts[-1:] == [name] for parts in names if parts not in columns)
    return name if is_selected and not is_other else ""
