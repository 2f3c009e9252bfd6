"""Parse queries with ``ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...)``, Flink's deduplication and Top-N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.rewrite.query_blocks import QueryBlock, closing_parenthesis, split_list


@dataclass(frozen=True)
class Ranking:
    """The row number that a block selects.

    Attributes:
        item: the tokens of the item in the select list.
        name: the name of the row number.
        keys: the expressions of PARTITION BY.
        orders: the tokens of the expressions of ORDER BY, with their directions.
    """

    item: range
    name: str
    keys: tuple[str, ...]
    orders: tuple[range, ...]


def parse_ranking(sql: str, tokens: Sequence[Token], block: QueryBlock) -> Ranking | None:
    """Return the row number that a block selects, with a name; None if it selects none."""
    for item in split_list(tokens, block.clause("SELECT")):
        words = [tokens[i].upper or tokens[i].text for i in item]
        if words[:5] != ["ROW_NUMBER", "(", ")", "OVER", "("]:
            continue
        start = item.start + 4
        end = closing_parenthesis(tokens, start)
        if end >= item.stop - 1:
            return None
        order = next((i for i in range(start, end) if tokens[i].upper == "ORDER" and tokens[i + 1].upper == "BY"), end)
        is_partitioned = tokens[start + 1].upper == "PARTITION"
        keys = split_list(tokens, range(start + 3, order)) if is_partitioned else []
        orders = split_list(tokens, range(order + 2, end)) if order < end else []
        return Ranking(
            item,
            tokens[item.stop - 1].name,
            tuple(sql[tokens[key.start].start : tokens[key.stop - 1].end] for key in keys),
            tuple(orders),
        )
    return None


def selected_column(tokens: Sequence[Token], block: QueryBlock, expression: str) -> str:
    """Return the column of a block that has the value of an expression, in lower case; empty if no column has it."""
    parts = list(lexer.tokenize_spark(expression))
    if not all(part.type in (lexer.WORD, lexer.QUOTED) or part.text == "." for part in parts):
        return ""
    name = parts[-1].name.lower()
    items = split_list(tokens, block.clause("SELECT"))
    names = [[tokens[i].name.lower() for i in item] for item in items]
    columns = [parts for parts in names if set(parts[1::2]) <= {"."}]
    is_selected = any(parts[-1:] in (["*"], [name]) for parts in columns)
    is_other = any(parts[-1:] == [name] for parts in names if parts not in columns)
    return name if is_selected and not is_other else ""
