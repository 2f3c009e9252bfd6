"""Parse what follows a table name in FROM: options, a time, TABLESAMPLE, Spark's WATERMARK clause and an alias.

The time is ``FOR SYSTEM_TIME AS OF o.ts``, the clause of Flink's lookup joins and temporal joins. Spark has the clause,
too, but only with a constant time, for time travel. That form is left to Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.query_text import QueryText

_AS_OF: Final = ["FOR", "SYSTEM_TIME", "AS", "OF"]
_JOIN_WORDS: Final = {"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "SEMI", "ANTI", "NATURAL", "JOIN", "LATERAL"}
# Words that can follow a relation and are not an alias.
_NOT_ALIASES: Final = set(
    """ANTI CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INSERT INTERSECT JOIN LATERAL LEFT LIMIT MINUS
    NATURAL OFFSET ON ORDER PIVOT QUALIFY RIGHT SELECT SEMI SETMINUS SORT TABLESAMPLE UNION UNPIVOT USING WHERE
    WINDOW""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class AsOf:
    """The clause ``FOR SYSTEM_TIME AS OF``: ``text[start:end]``."""

    time: tuple[str, ...]  # the parts of the column's name, such as ``("o", "ts")``
    start: int
    end: int
    join: tuple[str, ...] = ()  # the words before the table, such as ``("LEFT", "JOIN")``; empty after a comma or FROM


@dataclass(frozen=True)
class TableSuffix:
    """The clauses after a table name."""

    end: int  # index of the token where an alias is or could be
    has_options: bool = False  # whether it has Spark's ``WITH (...)``
    as_of: AsOf | None = None  # its time
    has_sample: bool = False  # whether it has ``TABLESAMPLE (...)``
    has_watermark: bool = False  # whether it has ``WATERMARK ... DELAY OF INTERVAL ...``.
    has_alias: bool = False  # whether it has an alias
    alias: str = ""  # the alias, or empty


def parse_table_suffix(query: QueryText, index: int) -> TableSuffix:
    """Parse the clauses after a table name that ends before a token."""
    has_options = query.word(index) == "WITH" and query.word(index + 1) == "("
    if has_options:
        index = _skip_parentheses(query, index + 1)
    parsed = _parse_as_of(query, index)
    as_of, index = parsed or (None, index)
    has_sample = query.word(index) == "TABLESAMPLE"
    if has_sample:
        index = _skip_parentheses(query, index + 1)
        if query.word(index) == "REPEATABLE":
            index = _skip_parentheses(query, index + 1)
    after_watermark = _skip_watermark(query, index)
    end = index if after_watermark is None else after_watermark
    has_alias = _is_alias(query, end)
    name = end + 1 if query.word(end) == "AS" else end
    alias = query.tokens[name].name if has_alias and name < len(query.tokens) else ""
    return TableSuffix(end, has_options, as_of, has_sample, after_watermark is not None, has_alias, alias)


def _is_alias(query: QueryText, index: int) -> bool:
    if index >= len(query.tokens) or not query.tokens[index].is_identifier:
        return False
    is_fetch = query.word(index) == "FETCH" and query.word(index + 1) in ("FIRST", "NEXT")
    return not is_fetch and query.tokens[index].upper not in _NOT_ALIASES and not _starts_with_as_of(query, index)


def _starts_with_as_of(query: QueryText, index: int) -> bool:
    """Return whether the clause starts at a token, in Flink's or Spark's form."""
    return [query.word(index + i) for i in range(len(_AS_OF))] == _AS_OF


def _parse_as_of(query: QueryText, index: int) -> tuple[AsOf, int] | None:
    """Return the clause at a token and the index after it; None without it or if its time is not a column."""
    if not _starts_with_as_of(query, index):
        return None
    tokens, start = query.tokens, query.tokens[index].start
    index += len(_AS_OF)
    parts: list[str] = []
    while index < len(tokens) and tokens[index].is_identifier:
        parts.append(tokens[index].name)
        index += 1
        if query.word(index) != ".":
            break
        index += 1
    is_followed_by_literal = index < len(tokens) and tokens[index].type in (lexer.STRING, lexer.NUMBER)  # DATE '...'
    if not parts or query.word(index) == "(" or is_followed_by_literal:
        return None
    return AsOf(tuple(parts), start, tokens[index - 1].end), index


def join_words(query: QueryText, index: int) -> tuple[str, ...]:
    """Return the words of the join before a token."""
    first = index
    while query.word(first - 1) in _JOIN_WORDS:
        first -= 1
    return tuple(query.word(i) for i in range(first, index))


def _skip_watermark(query: QueryText, index: int) -> int | None:
    """Return the index after ``WATERMARK expression DELAY OF INTERVAL ...``, or None if there is no such clause."""
    if query.word(index) != "WATERMARK":
        return None
    while (word := query.word(index)) != "DELAY":
        index = _skip_parentheses(query, index) if word == "(" else index + 1
        if index >= len(query.tokens) or word in _NOT_ALIASES or query.word(index) in (",", ")", ";"):
            return None
    if query.word(index + 1) != "OF":
        return None
    index += 3 if query.word(index + 2) == "INTERVAL" else 2
    tokens = query.tokens
    while index < len(tokens) and (tokens[index].type in (lexer.NUMBER, lexer.STRING) or tokens[index].text == "-"):
        index += 2 if tokens[index].text != "-" else 1  # the number or string, and its unit
        index += 2 if query.word(index) == "TO" else 0
    return index


def _skip_parentheses(query: QueryText, index: int) -> int:
    """Return the index after the parentheses that open at a token, or after the token."""
    return min(query.closing(index), len(query.tokens) - 1) + 1 if query.word(index) == "(" else index + 1
