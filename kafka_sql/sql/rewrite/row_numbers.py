"""Rewrite ``ROW_NUMBER() OVER (...) <= n`` over a stream, Flink's deduplication and Top-N, to an aggregate.

Spark has no window functions over streams. ::

    SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY user ORDER BY ts DESC) AS rn FROM clicks) WHERE rn = 1

becomes the last row of each group, which Spark's aggregates find with a state of one row per group::

    SELECT * FROM (SELECT __key1 AS user, __row.page AS page, ... CAST(1 AS BIGINT) AS rn
      FROM (SELECT __key1, max_by(struct(*), struct(__order1, __order2)) AS __row
        FROM (SELECT *, user AS __key1, ts AS __order1, kafka_sql.arrival_order() AS __order2 FROM clicks)
        GROUP BY __key1)) WHERE TRUE

For ``rn <= n``, the aggregate returns the rows of the group in their order. Of rows with the same order, the first one
comes first, as in Flink, because the last order column is the order of arrival. Only a deduplication that keeps the
last row, ``rn = 1`` in the descending order of a time attribute, keeps the last of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.catalog.source_catalog import SOURCE_CATALOG
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.context import spark_version
from kafka_sql.spark.plan import resolve
from kafka_sql.spark.plan_reader import WATERMARK_METADATA, read_plan
from kafka_sql.sql.recognize.query_text import QueryBlock, QueryText, Span
from kafka_sql.sql.rewrite.edits import Edit, Template
from kafka_sql.sql.rewrite.windows.window_blocks import END, START, WindowBlocks


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


ORDER_COLUMN: Final = "__order"  # the columns of ORDER BY, with a number
TOP_ROWS: Final = "__top_rows"  # the column with the first n rows of a group
_ARRIVAL_ORDER: Final = f"{SOURCE_CATALOG}.arrival_order()"
_CURRENT_TIMES: Final = ("CurrentTimestamp", "LocalTimestamp", "Now")
_ROW_NUMBER: Final = re.compile(r"\bROW_NUMBER\s*\(", re.IGNORECASE)


def rewrite_row_numbers(
    query: QueryText, windows: WindowBlocks, streaming: bool, analyze: Callable[[Template], DataFrame]
) -> Iterator[Edit]:
    """Yield the edits that write each deduplication and Top-N over a stream as an aggregate.

    Args:
        streaming: whether all tables are read as streams; otherwise those with the keyword STREAM.
        analyze: returns the result of a query, unread. The query is given by its parts, before edits.

    Raises:
        UnsupportedSqlError: this Spark has no aggregate for the order or the condition.
    """
    if not _ROW_NUMBER.search(query.text):
        return
    rankings = {block: ranking for block in query.blocks if (ranking := parse_ranking(query, block)) is not None}
    for inner, ranking in rankings.items():
        outer = windows.outer.get(inner)
        relation = outer.clause("FROM") if outer is not None else range(0)
        if outer is None or inner.start != relation.start + 1 or query.word(relation.start) != "(":
            continue
        is_stream = streaming or any(query.word(i) == "STREAM" for i in inner.clause("FROM"))
        if not (is_stream and query.is_single_relation(relation)):
            continue
        if any(inner.start < other.start < inner.end for other in rankings):
            raise UnsupportedSqlError(
                "ROW_NUMBER in a stream: a Top-N or deduplication of another one is not supported. Write the inner one "
                "into an 'upsert-kafka' table."
            )
        if query.closing(relation.start) == len(query.tokens):  # Spark reports the missing parenthesis
            continue
        if query.closing(relation.start) != inner.end:
            raise UnsupportedSqlError("ROW_NUMBER in a stream: write it in a subquery without UNION or LIMIT.")
        item, body = query.span(ranking.item), _body(query, inner)
        ctes = common_table_expressions(query, inner)
        only_order = _only_descending_order(query, ranking)
        number = [only_order or "1", f" AS {quote(ranking.name)}"]
        rows = analyze([*ctes, Span(body.start, item.start), *number, Span(item.end, body.end)])
        if rows.isStreaming:
            limit, condition = _parse_limit(query, outer, ranking)
            is_last_row = limit == 1 and _parse_orders(query, ranking.orders)[1]
            if not is_last_row and spark_version(rows.sparkSession) < (4, 2):  # min_by and max_by with a number
                raise UnsupportedSqlError(
                    "ROW_NUMBER in a stream: Top-N, and the first row of each key (ORDER BY ... ASC), need PySpark 4.2 "
                    f"or newer, and this is {rows.sparkSession.version}. Upgrade PySpark, or keep the last row: "
                    f"ORDER BY ... DESC and {ranking.name} = 1."
                )
            keeps_last = limit == 1 and only_order is not None and _is_time_attribute(rows, ranking.name)
            yield from _aggregate(query, inner, ranking, limit, keeps_last, rows.columns, windows)
            yield Edit(*query.span(condition), "TRUE")


def _body(query: QueryText, block: QueryBlock) -> Span:
    """Return the position of a block in parentheses, with a hint after its last token."""
    return Span(query.tokens[block.start].start, query.tokens[block.end].start)


def common_table_expressions(query: QueryText, block: QueryBlock) -> Template:
    """Return the common table expressions (WITH) that a block can read."""
    start, end, index = None, None, 0
    while index < block.start:
        if query.word(index) == "WITH" and start is None:
            start = index
        if query.word(index) == "(" and query.closing(index) < block.start:
            index = query.closing(index)
            if start is not None and query.word(index + 1) in (",", "SELECT", "FROM", "VALUES", "INSERT"):
                end = index
        elif query.word(index) == "(":
            break
        index += 1
    return [query.span(range(start, end + 1)), " "] if start is not None and end is not None else []


def _only_descending_order(query: QueryText, ranking: Ranking) -> Span | None:
    """Return the expression of ORDER BY if it is one in descending order."""
    (order, *others) = ranking.orders or (range(0),)
    is_descending = not others and len(order) > 1 and query.word(order.stop - 1) == "DESC"
    return query.span(order[:-1]) if is_descending else None


def _is_time_attribute(rows: DataFrame, name: str) -> bool:
    """Return whether a column is an event time or a processing time, by which Flink keeps the last row."""
    if WATERMARK_METADATA in rows.schema[name].metadata:
        return True
    operator = read_plan(rows)
    column = next((column for column in operator.output if column.text == name), None)
    parts = resolve(column, operator.children).walk() if column is not None else ()
    return any(part.name in _CURRENT_TIMES for part in parts)


def _parse_orders(query: QueryText, orders: Sequence[range]) -> tuple[list[Span], bool]:
    """Return the expressions of ORDER BY, and whether they are descending."""
    expressions, directions = [], set()
    for order in orders:
        last = query.word(order.stop - 1)
        if last in ("FIRST", "LAST"):
            raise UnsupportedSqlError("ROW_NUMBER in a stream: remove NULLS FIRST or LAST. NULL is the least value.")
        directions.add(last == "DESC")
        expressions.append(query.span(order[:-1] if last in ("ASC", "DESC") else order))
    if len(directions) != 1:
        raise UnsupportedSqlError(
            "ROW_NUMBER in a stream: ORDER BY must have columns of one direction, all ASC or all DESC. For a number, "
            "write its negative with the other direction."
        )
    return expressions, directions == {True}


def _parse_limit(query: QueryText, block: QueryBlock, ranking: Ranking) -> tuple[int, range]:
    """Return n of ``rn <= n`` in WHERE, and the tokens of this condition."""
    where, name = block.clause("WHERE"), re.escape(ranking.name.upper())
    for part in query.split(where, "AND") if not any(query.word(i) == "OR" for i in where) else ():
        text = "".join(query.tokens[i].name for i in part).upper()
        match = re.fullmatch(rf"(?:\w+\.)?{name}(<=|<|=)(\d+)", text) or re.fullmatch(
            rf"(?P<n>\d+)(>=|>|=)(?:\w+\.)?{name}", text
        )
        if match is None:
            continue
        number = int(next(group for group in match.groups() if group.isdigit()))
        operator = next(group for group in match.groups() if not group.isdigit())
        limit = number - 1 if operator in ("<", ">") else number
        if limit >= 1 and (operator != "=" or limit == 1):
            return limit, part
    raise UnsupportedSqlError(
        f"ROW_NUMBER in a stream: the query around it needs the condition WHERE {ranking.name} = 1, or "
        f"{ranking.name} <= n with a constant, connected with AND."
    )


def _aggregate(
    query: QueryText,
    block: QueryBlock,
    ranking: Ranking,
    limit: int,
    keeps_last: bool,
    columns: Sequence[str],
    windows: WindowBlocks,
) -> Iterator[Edit]:
    """Yield the edits around a block, which stays where it is, and that of its row number."""
    orders, is_descending = _parse_orders(query, ranking.orders)
    keys: dict[str, str | Span] = {f"__key{i}": query.span(key) for i, key in enumerate(ranking.keys, 1)}
    sources = {selected_column(query, block, key): f"__key{i}" for i, key in enumerate(ranking.keys, 1)}
    arrival = f"-{_ARRIVAL_ORDER}" if is_descending and not keeps_last else _ARRIVAL_ORDER
    order_columns: dict[str, str | Span] = {f"{ORDER_COLUMN}{i}": order for i, order in enumerate(orders, 1)}
    order_columns[f"{ORDER_COLUMN}{len(orders) + 1}"] = arrival
    if {START, END} <= {name.upper() for name in sources} and windows.reads_windows(block):
        keys["__window_time"] = "window_time"  # the event time by which Spark closes the window
        yield from windows.select_window_time(block)
    hidden = [part for name, text in (keys | order_columns).items() for part in (", ", text, f" AS {name}")][1:]
    yield Edit(*query.span(ranking.item), hidden)
    values = [quote(c) for c in columns if c.lower() != ranking.name.lower()]
    arguments = f"struct({', '.join(values)}), struct({', '.join(order_columns)})"
    function = "max_by" if is_descending else "min_by"
    if limit > 1:
        top = f"{function}({arguments}, {limit}) AS {TOP_ROWS}"
        explode = f" LATERAL VIEW posexplode({TOP_ROWS}) AS __position, __row"
    else:
        top, explode = f"{function}({arguments}) AS __row", ""
    items = ", ".join(_select_items(columns, ranking, limit, sources))
    selected, group = "".join(f"{name}, " for name in keys), f" GROUP BY {', '.join(keys)}" if keys else ""
    start, end = _body(query, block)
    yield Edit(start, start, f"SELECT {items} FROM (SELECT {selected}{top} FROM (")
    yield Edit(end, end, f"){group}){explode}")


def _select_items(columns: Sequence[str], ranking: Ranking, limit: int, keys: Mapping[str, str]) -> Iterator[str]:
    """Yield the columns of a block from its aggregate."""
    rank = f"CAST({'__position + 1' if limit > 1 else '1'} AS BIGINT)"
    for column in columns:
        value = keys.get(column.lower(), f"__row.{quote(column)}")
        yield f"{rank if column.lower() == ranking.name.lower() else value} AS {quote(column)}"
