"""CREATE and REPLACE: whose statement it is, told from its text without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Lexeme
from kafka_sql.sql.recognize.statement_types import CreateTable, CreateView
from kafka_sql.sql.recognize.token_cursor import Head

# Clauses of Spark's CREATE TABLE. What is Flink's in a statement, WITH, stands before AS.
_SPARKS_CLAUSES = {"USING", "OPTIONS", "TBLPROPERTIES", "LOCATION", "STORED", "ROW", "CLUSTERED", "CLUSTER"}
_ENDS = {*_SPARKS_CLAUSES, "AS", "SELECT"}
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def create_head(sql: str, lexemes: Iterator[Lexeme]) -> CreateTable | CreateView | None:
    """What follows CREATE; None where it is Spark's own."""
    words: set[str] = set()
    word = next(lexemes, None)
    while word is not None and word.upper in ("OR", "REPLACE", "TEMPORARY", "TEMP", "GLOBAL"):
        words.add(word.upper)
        word = next(lexemes, None)
    if word is not None and word.upper == "VIEW":
        head = Head(lexemes)
        kept = head.words("IF", "NOT", "EXISTS")
        name = head.name()
        return CreateView(name, bool(words & {"TEMPORARY", "TEMP"}), kept or "GLOBAL" in words) if name else None
    return _table(sql, word.end) if word is not None and word.upper == "TABLE" else None


def replace_head(sql: str, lexemes: Iterator[Lexeme]) -> CreateTable | None:
    """What follows REPLACE; None where it is Spark's own."""
    word = next(lexemes, None)
    return _table(sql, word.end) if word is not None and word.upper == "TABLE" else None


def _table(sql: str, start: int) -> CreateTable | None:
    """What follows CREATE TABLE: Flink's if WITH or an option follows, or LIKE and a table.

    Wrong statements that can only be Flink's are taken, too, as Spark's error would quote their options.
    """
    depth, last = 0, "TABLE"
    base: tuple[str, ...] | None = None
    head = Head(_lexemes(sql, start))
    while (lexeme := head.take()) is not None:
        # at any depth, so that a bracket that was forgotten is reported in Flink's terms
        if lexeme.text == "(" and last == "WITH":
            return None if depth > 0 and _is_sparks(sql, start) else CreateTable()
        if lexeme.text.startswith("/*"):  # a comment that is not closed: what it swallowed is told by a guess
            return CreateTable() if "WITH" in lexeme.text.upper() else None
        if lexeme.kind == lexer.STRING and _is_option(head, depth, last):
            return CreateTable()
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        named = last in (".", "TABLE", "EXISTS")
        if depth <= 0 and not named and lexeme.upper in _ENDS:
            return None
        if depth == 0 and not named and lexeme.upper == "LIKE" and base is None:
            base = head.name()
        last = "name" if named else lexeme.upper or lexeme.text
    return CreateTable(base) if base else None


def _is_option(head: Head, depth: int, last: str) -> bool:
    """Whether the string taken last is an option's key, with WITH misspelt or without its bracket.

    Within brackets a column's name stands there; elsewhere Spark has no ``'key' =`` without a clause before it.
    """
    following = head.next
    if depth > 1 or (depth == 1 and last not in ("(", ",")):
        return False
    return last == "WITH" or (following is not None and following.text == "=")


def _lexemes(sql: str, start: int) -> Iterator[Lexeme]:
    """Flink's lexemes, and Spark's strings in double quotes, which Flink has not, as one each."""
    while True:
        for lexeme in lexer.flink(sql, start):
            quoted = _DOUBLE_QUOTED.match(sql, lexeme.start) if lexeme.text == '"' else None
            if quoted is not None:
                start = quoted.end()
                yield Lexeme(lexer.STRING, quoted[0], quoted.start(), start)
                break
            yield lexeme
        else:
            return


def _is_sparks(sql: str, start: int) -> bool:
    """Whether a WITH within brackets is none, or of no account, as Spark reads the text.

    It is none in a string with a backslash, and of no account where one of Spark's clauses follows the columns.
    """
    depth, last, closed, found = 0, "", False, False
    for lexeme in lexer.spark(sql, start):
        found |= lexeme.text == "(" and last == "WITH"
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        closed |= lexeme.text == ")" and depth == 0
        if closed and depth == 0 and lexeme.upper in _SPARKS_CLAUSES:
            return True
        last = lexeme.upper
    return not found
