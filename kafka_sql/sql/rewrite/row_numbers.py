"""Rewrite ``ROW_NUMBER() OVER (...) <= n`` over a stream, Flink's deduplication and Top-N, to an aggregate.

Spark has no window functions over streams. ::

    SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY user ORDER BY ts DESC) AS rn FROM clicks) WHERE rn = 1

becomes the last row of each group, which Spark's aggregates find with a state of one row per group::

    SELECT * FROM (SELECT __key1 AS user, __row.page AS page, ... CAST(1 AS BIGINT) AS rn
      FROM (SELECT __key1, max_by(struct(*), struct(__order1)) AS __row
        FROM (SELECT *, user AS __key1, ts AS __order1 FROM clicks) GROUP BY __key1)) WHERE TRUE

For ``rn <= n``, the aggregate returns the rows of the group in their order. Of rows with the same order, the first one
comes first, as in Flink.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.rewrite.query_blocks import (
    QueryBlock,
    closing_parenthesis,
    depth_change,
    find_query_blocks,
    is_single_relation,
)
from kafka_sql.sql.rewrite.rankings import Ranking, parse_ranking, selected_column
from kafka_sql.sql.rewrite.table_references import Edit, apply_edits
from kafka_sql.sql.rewrite.window_time import END, START, WindowTimes

ORDER_COLUMN: Final = "__order"  # the columns of ORDER BY, with a number
TOP_ROWS: Final = "__top_rows"  # the column with the first n rows of a group
_ROW_NUMBER: Final = re.compile(r"\bROW_NUMBER\s*\(", re.IGNORECASE)
_PROCTIME: Final = re.compile(r"\bPROCTIME\s*\(\s*\)", re.IGNORECASE)


def rewrite_row_numbers(sql: str, streaming: bool, analyze: Callable[[str], DataFrame]) -> str:
    """Return a query with an aggregate for each deduplication and Top-N over a stream; other text stays as written.

    Args:
        streaming: whether all tables are read as streams; otherwise those with the keyword STREAM.
        analyze: returns the result of a query, unread.

    Raises:
        UnsupportedSqlError: Spark has no aggregate for the order or the condition.
    """
    if not _ROW_NUMBER.search(sql):
        return sql
    tokens = list(lexer.tokenize_spark(sql))
    blocks = find_query_blocks(tokens)
    times = WindowTimes(tokens, blocks)
    edits: list[Edit] = []
    for outer in blocks:
        relation = outer.clause("FROM")
        inner = next((b for b in blocks if relation and b.start == relation.start + 1), None)
        if inner is None or tokens[relation.start].text != "(" or not is_single_relation(tokens, relation):
            continue
        ranking = parse_ranking(sql, tokens, inner)
        if ranking is None or not (streaming or any(tokens[i].upper == "STREAM" for i in inner.clause("FROM"))):
            continue
        if any(inner.start < b.start < inner.end and parse_ranking(sql, tokens, b) for b in blocks):
            raise UnsupportedSqlError(
                "ROW_NUMBER in a stream: a Top-N or deduplication of another one is not supported. Write the inner one "
                "into an 'upsert-kafka' table."
            )
        if closing_parenthesis(tokens, relation.start) != inner.end:
            raise UnsupportedSqlError("ROW_NUMBER in a stream: write it in a subquery without UNION or LIMIT.")
        columns = _body(sql, tokens, inner, ranking, f"1 AS {quote(ranking.name)}")
        rows = analyze(_prefix(sql, tokens, inner) + columns)
        if not rows.isStreaming:
            continue
        limit, condition = _parse_limit(tokens, outer, ranking)
        text = _aggregate(sql, tokens, inner, ranking, limit, rows.columns, times)
        edits.append((tokens[inner.start].start, tokens[inner.end].start, text))  # with a hint after the last token
        edits.append((tokens[condition.start].start, tokens[condition.stop - 1].end, "TRUE"))
    return apply_edits(sql, edits)


def _prefix(sql: str, tokens: Sequence[Token], block: QueryBlock) -> str:
    """Return the common table expressions (WITH) that a block can read."""
    depth, start, end = 0, None, None
    for index in range(block.start):
        depth += depth_change(tokens[index])
        if depth == 0 and tokens[index].upper == "WITH" and start is None:
            start = index
        if depth == 0 and start is not None and tokens[index].text == ")":
            following = tokens[index + 1]
            if following.text == "," or following.upper in ("SELECT", "FROM", "VALUES", "INSERT"):
                end = index
    return f"{sql[tokens[start].start : tokens[end].end]} " if start is not None and end is not None else ""


def _parse_orders(sql: str, tokens: Sequence[Token], orders: Sequence[range]) -> tuple[list[str], bool]:
    """Return the expressions of ORDER BY, and whether they are descending.

    Raises:
        UnsupportedSqlError: there is no order, or there are several directions, or NULLS FIRST or LAST.
    """
    texts, directions = [], set()
    for order in orders:
        last = tokens[order.stop - 1].upper
        if last in ("FIRST", "LAST"):
            raise UnsupportedSqlError("ROW_NUMBER in a stream: remove NULLS FIRST or LAST. NULL is the least value.")
        directions.add(last == "DESC")
        end = order.stop - 1 - (last in ("ASC", "DESC"))
        texts.append(_PROCTIME.sub("current_timestamp()", sql[tokens[order.start].start : tokens[end].end]))
    if len(directions) != 1:
        raise UnsupportedSqlError(
            "ROW_NUMBER in a stream: ORDER BY must have columns of one direction, all ASC or all DESC. For a number, "
            "write its negative with the other direction."
        )
    return texts, directions == {True}


def _parse_limit(tokens: Sequence[Token], block: QueryBlock, ranking: Ranking) -> tuple[int, range]:
    """Return n of ``rn <= n`` in WHERE, and the tokens of this condition.

    Raises:
        UnsupportedSqlError: there is no such condition.
    """
    where = block.clause("WHERE")
    depth, start, parts = 0, where.start, []
    for index in where:
        depth += depth_change(tokens[index])
        if depth == 0 and tokens[index].upper == "AND":
            parts.append(range(start, index))
            start = index + 1
    parts.append(range(start, where.stop))
    for part in parts if not any(tokens[i].upper == "OR" for i in where) else ():
        text = "".join(tokens[i].name for i in part).upper()
        name = re.escape(ranking.name.upper())
        match = re.fullmatch(rf"(?:\w+\.)?{name}(<=|<|=)(\d+)", text) or re.fullmatch(
            rf"(?P<n>\d+)(>=|>|=)(?:\w+\.)?{name}", text
        )
        if match is None:
            continue
        number = int(next(group for group in match.groups() if group.isdigit()))
        operator = next(group for group in match.groups() if not group.isdigit())
        limit = number - (operator in ("<", ">"))
        if limit >= 1 and (operator != "=" or limit == 1):
            return limit, part
    raise UnsupportedSqlError(
        f"ROW_NUMBER in a stream: the query around it needs the condition WHERE {ranking.name} = 1, or "
        f"{ranking.name} <= n with a constant, connected with AND."
    )


def _body(sql: str, tokens: Sequence[Token], block: QueryBlock, ranking: Ranking, item: str, *others: Edit) -> str:
    """Return a block with another item instead of the row number."""
    start, end = tokens[block.start].start, tokens[block.end].start
    edits = [(tokens[ranking.item.start].start, tokens[ranking.item.stop - 1].end, item), *others]
    return apply_edits(sql[start:end], [(first - start, last - start, text) for first, last, text in edits])


def _aggregate(
    sql: str,
    tokens: Sequence[Token],
    block: QueryBlock,
    ranking: Ranking,
    limit: int,
    columns: Sequence[str],
    times: WindowTimes,
) -> str:
    """Return the query that replaces a block with ROW_NUMBER.

    Args:
        columns: the columns of the block.
    """
    texts, is_descending = _parse_orders(sql, tokens, ranking.orders)
    sources = {key: selected_column(tokens, block, key) for key in ranking.keys}
    keys = {f"__key{i}": text for i, text in enumerate(ranking.keys, 1)}
    orders = {f"{ORDER_COLUMN}{i}": text for i, text in enumerate(texts, 1)}
    others: list[Edit] = []
    if {START, END} <= {name.upper() for name in sources.values()} and times.reads_windows(block):
        keys["__window_time"] = "window_time"  # the event time by which Spark closes the window
        others = list(times.select_window_time(block))
    hidden = ", ".join(f"{text} AS {name}" for name, text in (keys | orders).items())
    body = _body(sql, tokens, block, ranking, hidden, *others)
    number = ranking.name.lower()
    values = [quote(c) for c in columns if c.lower() != number]
    row, order = f"struct({', '.join(values)})", f"struct({', '.join(orders)})"
    function = "max_by" if is_descending else "min_by"
    selected, group = "".join(f"{name}, " for name in keys), f" GROUP BY {', '.join(keys)}" if keys else ""
    if limit > 1:
        top = f"{function}({row}, {order}, {limit}) AS {TOP_ROWS}"
        explode = f" LATERAL VIEW posexplode({TOP_ROWS}) AS __position, __row"
    else:  # of rows with equal orders, max_by returns the last one, and min_by with n the first one
        top = f"max_by({row}, {order}) AS __row" if is_descending else f"min_by({row}, {order}, 1)[0] AS __row"
        explode = ""
    by_column = {sources[text]: name for name, text in keys.items() if text in sources}
    rank = f"CAST({'__position + 1' if limit > 1 else '1'} AS BIGINT)"
    values_by_column = {c: by_column.get(c.lower(), f"__row.{quote(c)}") for c in columns}
    values_by_column |= {c: rank for c in columns if c.lower() == number}
    items = [f"{value} AS {quote(column)}" for column, value in values_by_column.items()]
    return f"SELECT {', '.join(items)} FROM (SELECT {selected}{top} FROM ({body}){group}){explode}"
