"""``/*+ OPTIONS('key' = 'value', ...) */`` behind a table's name: options for this one reading or writing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, UnsupportedSqlError
from kafka_sql.options.connector import CONNECTOR
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.syntax_error import syntax_error
from kafka_sql.sql.recognize.token_cursor import TokenCursor

_SPACE = re.compile(r"(?:\s+|--[^\r\n]*|/\*(?!\+)(?:(?!/\*).)*?\*/)*", re.DOTALL)
_OPTIONS = re.compile(r"/\*\+\s*OPTIONS\b", re.IGNORECASE)


@dataclass(frozen=True)
class Hint:
    """The options of a hint, and where it stands: ``sql[start:end]``."""

    options: Mapping[str, str] = field(repr=False)
    start: int
    end: int


def parse_hint(sql: str, end: int) -> Hint | None:
    """The hint that follows a table's name which ends at ``end``; None where none does.

    Raises:
        SqlSyntaxError: it is not written as Flink writes it.
        UnsupportedSqlError: another hint than OPTIONS.
        ConflictingOptionsError, InvalidOptionError: a key twice, or 'connector'.
    """
    space = _SPACE.match(sql, end)
    start = space.end() if space else end
    if not sql.startswith("/*+", start):
        return None
    cursor = TokenCursor(lexer.tokenize_flink(sql, start + 3))
    options: dict[str, str] = {}
    if not cursor.take_words("OPTIONS"):
        word = cursor.take_identifier()
        raise UnsupportedSqlError(
            f"Hint {word or '/*+ ... */'} behind a table's name: only OPTIONS('key' = 'value', ...) is supported there."
        )
    if not cursor.take_symbol("("):
        _fail(sql, cursor, "expected '(' after OPTIONS")
    while not cursor.take_symbol(")"):
        if options and not cursor.take_symbol(","):
            _fail(sql, cursor, "expected ',' or ')' in OPTIONS")
        key = cursor.take_string()
        if key is None or not cursor.take_symbol("="):
            _fail(sql, cursor, "expected 'key' = 'value' in OPTIONS")
        value = cursor.take_string()
        if value is None:
            _fail(sql, cursor, "expected an option's value in single quotes")
        if key in options:
            raise ConflictingOptionsError(f"OPTIONS hint: option '{key}' is given more than once. Keep one.")
        options[key] = value
    if not (cursor.take_symbol("*") and cursor.take_symbol("/")):
        _fail(sql, cursor, "expected '*/' after OPTIONS(...)")
    if CONNECTOR.key in options:
        raise InvalidOptionError(
            "OPTIONS hint: the value of property 'connector' cannot be changed by a hint. Declare another table."
        )
    return Hint(options, start, cursor.end)


def check_hint_positions(sql: str, placed: list[Hint]) -> None:
    """Refuse OPTIONS hints that stand elsewhere than behind a table's name: Spark would drop them.

    Raises:
        UnsupportedSqlError: there is one.
    """
    starts = {hint.start for hint in placed}
    for token in lexer.tokenize_spark_with_hints(sql):
        if token.type == lexer.HINT and token.start not in starts and _OPTIONS.match(token.text):
            number = sql.count("\n", 0, token.start) + 1
            raise UnsupportedSqlError(
                f"OPTIONS hint in line {number}: it must stand directly behind the name of a Kafka table, before its "
                "alias: FROM t /*+ OPTIONS('key' = 'value') */ AS a."
            )


def check_insert_hint(head: str) -> None:
    """Refuse a hint in the head of an INSERT that stands elsewhere than directly behind the table's name.

    Args:
        head: without the hint that stands there.

    Raises:
        UnsupportedSqlError: there is one.
    """
    if any(token.type == lexer.HINT for token in lexer.tokenize_spark_with_hints(head)):
        raise UnsupportedSqlError(
            "OPTIONS hint: it must stand directly behind the table's name, once: "
            "INSERT INTO t /*+ OPTIONS('key' = 'value') */ (a, b) SELECT ..."
        )


def has_options_hint(sql: str) -> bool:
    """Whether an OPTIONS hint stands anywhere in one of Spark's statements."""
    if "/*+" not in sql:
        return False
    return any(
        token.type == lexer.HINT and _OPTIONS.match(token.text) for token in lexer.tokenize_spark_with_hints(sql)
    )


def _fail(sql: str, cursor: TokenCursor, message: str) -> NoReturn:
    at = cursor.peek()
    start, end = (at.start, at.end) if at is not None else (len(sql), len(sql))
    raise syntax_error(sql, start, end, message)
