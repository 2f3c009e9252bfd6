"""Rewrite Flink's ``UNNEST`` of arrays, maps and arrays of rows to Spark's ``LATERAL VIEW``.

``FROM orders CROSS JOIN UNNEST(items) AS i (item)`` becomes ``FROM orders LATERAL VIEW explode(items) i AS item``, and
LEFT JOIN ... ON TRUE becomes LATERAL VIEW OUTER. A LATERAL VIEW is a projection of Spark, so streams need no join.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize.query_text import QueryBlock, QueryText
from kafka_sql.sql.rewrite.edits import Edit, Template
from kafka_sql.sql.rewrite.row_numbers import common_table_expressions

MAY_HAVE_UNNEST: Final = re.compile(r"\bUNNEST\s*\(", re.IGNORECASE)
_JOINS: Final = {  # the words before UNNEST, the last one first, and whether rows without elements stay
    ("JOIN", "CROSS"): False,
    ("JOIN", "INNER"): False,
    ("JOIN", "LEFT"): True,
    ("JOIN", "OUTER", "LEFT"): True,
    ("JOIN",): False,
    (",",): False,
}
_NOT_ALIASES: Final = ("", ",", ")", "CROSS", "FULL", "INNER", "JOIN", "LATERAL", "LEFT", "ON", "RIGHT", "WITH")


@dataclass(frozen=True)
class _Unnest:
    """An UNNEST in a FROM clause."""

    tokens: range  # with the join before it, and the alias and ON TRUE after it
    before: range  # the relations before it
    argument: range
    is_outer: bool
    has_ordinality: bool
    alias: str
    columns: tuple[str, ...]  # the names in the alias


def rewrite_unnest(query: QueryText, analyze: Callable[[Template], DataFrame]) -> Iterator[Edit]:
    """Yield the edits that write each UNNEST as a LATERAL VIEW.

    Args:
        analyze: returns the result of a query, unread, with the edits before. The query is given by its parts.

    Raises:
        UnsupportedSqlError: Spark has no such join.
    """
    if not MAY_HAVE_UNNEST.search(query.text):
        return
    found = [_parse(query, block, i) for block, i in _calls(query)]
    ends = {unnest.tokens.start for unnest in found}
    for (block, _), unnest in zip(_calls(query), found, strict=True):
        end = unnest.tokens.stop
        if end not in ends and end != block.clause("FROM").stop:
            raise _unsupported(query, unnest.argument, "it must come after all other tables of FROM. Move it there")
        yield Edit(*query.span(unnest.tokens), _lateral_view(query, block, unnest, analyze))


def _calls(query: QueryText) -> Iterator[tuple[QueryBlock, int]]:
    """Yield the position of each UNNEST, and the block whose FROM has it."""
    for i in range(len(query.tokens)):
        if query.word(i) == "UNNEST" and query.word(i + 1) == "(":
            blocks = [block for block in query.blocks if i in block.clause("FROM")]
            if not blocks:
                raise _unsupported(query, range(i, i + 1), "it must be in FROM, after a table")
            yield blocks[-1], i


def _parse(query: QueryText, block: QueryBlock, index: int) -> _Unnest:
    relations = block.clause("FROM")
    closing = query.closing(index + 1)
    argument = range(index + 2, closing)
    joins = [words for words in _JOINS if tuple(query.word(index - 1 - i) for i in range(len(words))) == words]
    if not joins or not argument:
        raise _unsupported(
            query, argument, "write CROSS JOIN UNNEST(...) or LEFT JOIN UNNEST(...) ON TRUE after a table"
        )
    join = max(joins, key=len)
    start, end = index - len(join), closing + 1
    has_ordinality = query.words(range(end, min(end + 2, relations.stop))) == ["WITH", "ORDINALITY"]
    end += 2 if has_ordinality else 0
    alias, columns, end = _parse_alias(query, end, relations.stop)
    if join[0] == "JOIN" and join != ("JOIN", "CROSS"):
        if query.words(range(end, min(end + 2, relations.stop))) != ["ON", "TRUE"]:
            raise _unsupported(query, argument, "its condition must be ON TRUE. Write other conditions in WHERE")
        end += 2
    before = range(relations.start, start)
    return _Unnest(range(start, end), before, argument, _JOINS[join], has_ordinality, alias, columns)


def _parse_alias(query: QueryText, index: int, stop: int) -> tuple[str, tuple[str, ...], int]:
    """Return the alias at a token, the names of columns in it, and the index after it."""
    has_keyword = index < stop and query.word(index) == "AS"
    index += has_keyword
    if index >= stop or (query.word(index) in _NOT_ALIASES and query.tokens[index].word):
        return "", (), index
    alias, index = query.tokens[index].name, index + 1
    columns: tuple[str, ...] = ()
    if index < stop and query.word(index) == "(":
        closing = query.closing(index)
        columns = tuple(query.tokens[i].name for i in range(index + 1, closing, 2))
        index = closing + 1
    return alias, columns, index


def _lateral_view(
    query: QueryText, block: QueryBlock, unnest: _Unnest, analyze: Callable[[Template], DataFrame]
) -> Template:
    argument = query.span(unnest.argument)
    ctes = common_table_expressions(query, block)
    relations = query.span(unnest.before)
    value = analyze([*ctes, "SELECT ", argument, " AS __value FROM ", relations])
    fields = _fields(value.schema["__value"].dataType)
    if fields is None:
        raise _unsupported(query, unnest.argument, "it needs an array or a map")
    names = [*(name for name, _ in fields), *(["ORDINALITY"] if unnest.has_ordinality else [])]
    if unnest.columns and len(unnest.columns) != len(names):
        raise _unsupported(query, unnest.argument, f"its alias must have {len(names)} columns, as its elements have")
    names = list(unnest.columns) or names
    values = [*(text for _, text in fields), *(["__i + 1"] if unnest.has_ordinality else [])]
    pairs = ", ".join(f"{text} AS {quote(name)}" for text, name in zip(values, names, strict=True))
    entries: Template = (
        [argument] if not isinstance(value.schema["__value"].dataType, MapType) else ["map_entries(", argument, ")"]
    )
    outer = "OUTER " if unnest.is_outer else ""
    alias = quote(unnest.alias or f"__unnest_{unnest.tokens.start}")
    columns = ", ".join(map(quote, names))
    return [
        f" LATERAL VIEW {outer}inline(transform(",
        *entries,
        f", (__x, __i) -> struct({pairs}))) {alias} AS {columns}",
    ]


def _fields(type: DataType) -> Sequence[tuple[str, str]] | None:
    """Return the columns of an element of a collection, each with its value; None for another type."""
    if isinstance(type, MapType):
        return [("KEY", "__x.key"), ("VALUE", "__x.value")]
    if not isinstance(type, ArrayType):
        return None
    if isinstance(type.elementType, StructType):
        return [(name, f"__x.{quote(name)}") for name in type.elementType.names]
    return [("f0", "__x")]


def _unsupported(query: QueryText, argument: range, reason: str) -> UnsupportedSqlError:
    name = f"UNNEST({query.part(argument)})" if argument else "UNNEST"
    return UnsupportedSqlError(f"{name}: {reason}.")
