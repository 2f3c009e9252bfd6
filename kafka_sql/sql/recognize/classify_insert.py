"""Split an INSERT statement by position into table, columns and the unchanged query text."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.statement_types import Insert
from kafka_sql.sql.recognize.token_cursor import TokenCursor

_QUERY_WORDS = ("SELECT", "VALUES", "FROM", "TABLE", "MAP", "REDUCE")
_CONFLICT_STRATEGIES = ("DEDUPLICATE", "ERROR", "NOTHING")


def classify_insert(sql: str, cursor: TokenCursor, start: int = 0) -> Insert | None:
    """Classify the INSERT at offset ``start``; return None for syntax that only Spark has.

    That is INSERT OVERWRITE DIRECTORY, REPLACE WHERE | USING | ON, WITH (options) and IF NOT EXISTS.
    """
    overwrite = cursor.take_words("OVERWRITE")
    if not overwrite and not cursor.take_words("INTO"):
        return None
    cursor.take_words("TABLE")
    target = cursor.peek()
    if target is not None and target.upper in ("DIRECTORY", "LOCAL") and not _is_table_name(cursor):
        return None
    name = cursor.take_name()
    following = cursor.peek()
    gap = sql[cursor.end : following.start] if following is not None else ""
    partition = _take_partition(sql, cursor)
    columns = _take_columns(cursor)
    by_name = columns is None and cursor.take_words("BY", "NAME")
    first = cursor.peek()
    if not name or first is None or not _starts_query(cursor):
        return None
    body, conflict = _split_conflict(lexer.strip_semicolon(sql, first.start))
    hint_text, prefix = gap if "/*+" in gap else "", sql[start : first.start]
    return Insert(name, body, overwrite, columns, by_name, partition, hint_text, prefix, conflict)


def classify_with(sql: str, _: TokenCursor) -> Insert | None:
    """Classify ``WITH q AS (...) INSERT INTO t query`` like ``INSERT INTO t WITH q AS (...) query``."""
    if "INSERT" not in sql.upper():
        return None
    depth, last = 0, ""
    for token in lexer.tokenize_spark(sql):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and last == ")":
            if token.upper == "INSERT":
                insert = classify_insert(sql, TokenCursor(lexer.tokenize_flink(sql, token.end)), token.start)
                if insert is None:
                    return None
                has_ctes = insert.body[:4].upper() == "WITH"  # these follow in parentheses
                return replace(insert, body=sql[: token.start] + (f"({insert.body})" if has_ctes else insert.body))
            if token.upper in _QUERY_WORDS:
                return None
        last = token.text
    return None


def _split_conflict(query: str) -> tuple[str, str | None]:
    """Split Flink's clause ``ON CONFLICT DO DEDUPLICATE | ERROR | NOTHING`` off the end of a query."""
    if "CONFLICT" not in query.upper():
        return query, None
    last = deque(lexer.tokenize_spark(query), maxlen=4)
    words = [token.upper for token in last]
    if words[:3] != ["ON", "CONFLICT", "DO"] or words[-1] not in _CONFLICT_STRATEGIES:
        return query, None
    return query[: last[0].start], words[-1]


def _is_table_name(cursor: TokenCursor) -> bool:
    """Return whether DIRECTORY or LOCAL is a table name; as a keyword it precedes a path or DIRECTORY."""
    following = cursor.peek(1)
    return following is None or (following.type != lexer.STRING and following.upper not in ("DIRECTORY", "USING"))


def _take_partition(sql: str, cursor: TokenCursor) -> str | None:
    following = cursor.peek(1)
    if following is None or following.text != "(" or not cursor.take_words("PARTITION"):
        return None
    depth = 0
    while (token := cursor.take()) is not None:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            return sql[following.start : token.end]
    return None


def _take_columns(cursor: TokenCursor) -> tuple[str, ...] | None:
    """Take a column list ``(a, b)``; return None if the parenthesis starts the query, as in ``(SELECT a FROM t)``."""
    parenthesis = cursor.peek()
    if parenthesis is None or parenthesis.text != "(":
        return None
    names: list[str] = []
    index = 1
    while (name := cursor.peek(index)) is not None and name.type in (lexer.WORD, lexer.QUOTED):
        names.append(name.name)
        separator = cursor.peek(index + 1)
        if separator is None or separator.text not in (",", ")"):
            return None
        index += 2
        if separator.text == ")":
            for _ in range(index):
                cursor.take()
            return tuple(names)
    return None


def _starts_query(cursor: TokenCursor) -> bool:
    first, second = cursor.peek(), cursor.peek(1)
    if first is None:
        return False
    if first.upper == "WITH":  # but not WITH (options)
        return second is not None and second.text != "("
    if first.text == "(":  # but not IDENTIFIER('t')
        return second is not None and (second.text == "(" or second.upper in (*_QUERY_WORDS, "WITH"))
    return first.upper in _QUERY_WORDS
