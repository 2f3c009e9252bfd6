"""Parse ``/*+ OPTIONS('key' = 'value', ...) */`` after a table name: options for one read or write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, UnsupportedSqlError
from kafka_sql.options.connector import CONNECTOR
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.syntax_error import syntax_error
from kafka_sql.sql.recognize.token_cursor import TokenCursor

_BLANK = re.compile(r"(?:\s+|--[^\r\n]*|/\*(?!\+)(?:(?!/\*).)*?\*/)*", re.DOTALL)
_OPTIONS = re.compile(r"/\*\+\s*OPTIONS\b", re.IGNORECASE)


@dataclass(frozen=True)
class Hint:
    """The options of a hint, and its position ``sql[start:end]``."""

    options: Mapping[str, str] = field(repr=False)
    start: int
    end: int


def parse_hint(sql: str, end: int) -> Hint | None:
    """Return the hint after a table name that ends at offset ``end``, or None if there is no hint.

    Raises:
        SqlSyntaxError: the hint does not follow Flink's syntax.
        UnsupportedSqlError: the hint is not OPTIONS.
        ConflictingOptionsError, InvalidOptionError: a key is set twice, or is 'connector'.
    """
    space = _BLANK.match(sql, end)
    start = space.end() if space else end
    if not sql.startswith("/*+", start):
        return None
    cursor = TokenCursor(lexer.tokenize_flink(sql, start + 3))
    options: dict[str, str] = {}
    if not cursor.take_words("OPTIONS"):
        word = cursor.take_identifier()
        raise UnsupportedSqlError(
            f"Hint {word or '/*+ ... */'} is not supported after a table name. Use OPTIONS('key' = 'value', ...)."
        )
    if not cursor.take_symbol("("):
        _raise_syntax_error(sql, cursor, "expected '(' after OPTIONS")
    while not cursor.take_symbol(")"):
        if options and not cursor.take_symbol(","):
            _raise_syntax_error(sql, cursor, "expected ',' or ')' in OPTIONS")
        key = cursor.take_string()
        if key is None or not cursor.take_symbol("="):
            _raise_syntax_error(sql, cursor, "expected 'key' = 'value' in OPTIONS")
        value = cursor.take_string()
        if value is None:
            _raise_syntax_error(sql, cursor, "expected an option value in single quotes")
        if key in options:
            raise ConflictingOptionsError(
                f"OPTIONS hint: option '{key}' is set more than once. Remove the duplicates.", option=key
            )
        options[key] = value
    if not (cursor.take_symbol("*") and cursor.take_symbol("/")):
        _raise_syntax_error(sql, cursor, "expected '*/' after OPTIONS(...)")
    if CONNECTOR.key in options:
        raise InvalidOptionError("OPTIONS hint: 'connector' cannot be changed by a hint. Create another table instead.")
    return Hint(options, start, cursor.end)


def check_hint_positions(query: QueryText, table_hints: Sequence[Hint]) -> None:
    """Reject OPTIONS hints that do not directly follow a table name, because Spark would ignore them.

    Raises:
        UnsupportedSqlError: the text has another OPTIONS hint.
    """
    starts = {hint.start for hint in table_hints}
    for token in query.hints:
        if token.start not in starts and _OPTIONS.match(token.text):
            line = query.text.count("\n", 0, token.start) + 1
            raise UnsupportedSqlError(
                f"OPTIONS hint in line {line} must directly follow the name of a Kafka table, before its alias: "
                "FROM t /*+ OPTIONS('key' = 'value') */ AS a."
            )


def check_insert_hint(prefix: str) -> None:
    """Reject hints before the query of an INSERT that do not directly follow the table name.

    Args:
        prefix: the text before the query, without the hint directly after the table name.

    Raises:
        UnsupportedSqlError: the text has such a hint.
    """
    if QueryText(prefix).hints:
        raise UnsupportedSqlError(
            "OPTIONS hint: expected a single hint directly after the table name: "
            "INSERT INTO t /*+ OPTIONS('key' = 'value') */ (a, b) SELECT ..."
        )


def has_options_hint(query: QueryText) -> bool:
    """Return whether a Spark statement contains an OPTIONS hint."""
    return "/*+" in query.text and any(_OPTIONS.match(token.text) for token in query.hints)


def _raise_syntax_error(sql: str, cursor: TokenCursor, message: str) -> NoReturn:
    token = cursor.peek()
    start, end = (token.start, token.end) if token is not None else (len(sql), len(sql))
    raise syntax_error(sql, start, end, message)
