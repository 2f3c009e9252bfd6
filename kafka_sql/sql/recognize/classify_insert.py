"""INSERT INTO by position: the table, the columns, and the query as it was typed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Lexeme
from kafka_sql.sql.recognize.token_cursor import Head

_QUERIES = ("SELECT", "VALUES", "FROM", "TABLE", "MAP", "REDUCE")


@dataclass(frozen=True)
class Insert:
    """``INSERT INTO | OVERWRITE [TABLE] name [PARTITION (...)] [(columns) | BY NAME] query``.

    Attributes:
        name: the table's parts as typed.
        overwrite: INSERT OVERWRITE.
        columns: the explicit list, or None.
        by_name: ``BY NAME`` stands before the query.
        partition: the text of ``PARTITION (...)``, or None.
        body: the query, unchanged, without the semicolon at its end.
        start: where the body starts in the statement.
        hint: the text behind the name that holds a hint, or nothing.
        head: the statement from INSERT up to the query, as typed.
    """

    name: tuple[str, ...]
    overwrite: bool
    columns: tuple[str, ...] | None
    by_name: bool
    partition: str | None
    body: str
    start: int
    hint: str = field(default="", repr=False)
    head: str = field(default="", repr=False, compare=False)


def insert_head(sql: str, lexemes: Iterator[Lexeme], start: int = 0) -> Insert | None:
    """The INSERT at ``start`` whose lexemes behind that word are given; None where it is one of Spark's own forms.

    Those are INSERT OVERWRITE DIRECTORY, REPLACE WHERE | USING | ON, WITH (options) and IF NOT EXISTS.
    """
    head = Head(lexemes)
    overwrite = head.words("OVERWRITE")
    if not overwrite and not head.words("INTO"):
        return None
    head.words("TABLE")
    if (head.next is not None and head.next.upper in ("DIRECTORY", "LOCAL")) and not _is_table_name(head):
        return None
    name = head.name()
    following = head.peek()
    gap = sql[head.end : following.start] if following is not None else ""
    partition = _partition(sql, head)
    columns = _columns(head)
    by_name = columns is None and head.words("BY", "NAME")
    first = head.next
    if not name or first is None or not _starts_query(head):
        return None
    body = lexer.without_semicolon(sql, first.start)
    hint, into = gap if "/*+" in gap else "", sql[start : first.start]
    return Insert(name, overwrite, columns, by_name, partition, body, first.start, hint, into)


def insert_behind_ctes(sql: str, _: Iterator[Lexeme]) -> Insert | None:
    """``WITH q AS (...) INSERT INTO t query``: the same as ``INSERT INTO t WITH q AS (...) query``."""
    if "INSERT" not in sql.upper():
        return None
    depth, last = 0, ""
    for lexeme in lexer.spark(sql):
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        if depth == 0 and last == ")":
            if lexeme.upper == "INSERT":
                found = insert_head(sql, lexer.flink(sql, lexeme.end), lexeme.start)
                return found and replace(found, body=_joined(sql[: lexeme.start], found.body))
            if lexeme.upper in _QUERIES:
                return None
        last = lexeme.text
    return None


def _joined(ctes: str, body: str) -> str:
    """CTEs before a query; one that has its own is put in parentheses."""
    return f"{ctes}({body})" if body[:4].upper() == "WITH" else ctes + body


def _is_table_name(head: Head) -> bool:
    """Whether DIRECTORY or LOCAL is the table's name: a path or DIRECTORY would follow the keyword."""
    following = head.peek(1)
    return following is None or (following.kind != lexer.STRING and following.upper not in ("DIRECTORY", "USING"))


def _partition(sql: str, head: Head) -> str | None:
    following = head.peek(1)
    if following is None or following.text != "(" or not head.words("PARTITION"):
        return None
    depth = 0
    while (lexeme := head.take()) is not None:
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        if depth == 0:
            return sql[following.start : lexeme.end]
    return None


def _columns(head: Head) -> tuple[str, ...] | None:
    """The list ``(a, b)``: names and commas only; else the bracket belongs to the query, ``(SELECT a FROM t)``."""
    bracket = head.peek()
    if bracket is None or bracket.text != "(":
        return None
    names: list[str] = []
    index = 1
    while (name := head.peek(index)) is not None and name.kind in (lexer.WORD, lexer.QUOTED):
        names.append(name.name)
        separator = head.peek(index + 1)
        if separator is None or separator.text not in (",", ")"):
            return None
        index += 2
        if separator.text == ")":
            for _ in range(index):
                head.take()
            return tuple(names)
    return None


def _starts_query(head: Head) -> bool:
    first, second = head.peek(), head.peek(1)
    if first is None:
        return False
    if first.upper == "WITH":  # and not WITH (options)
        return second is not None and second.text != "("
    if first.text == "(":  # and not IDENTIFIER('t')
        return second is not None and (second.text == "(" or second.upper in (*_QUERIES, "WITH"))
    return first.upper in _QUERIES
