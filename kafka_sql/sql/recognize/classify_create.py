"""Decide whether a CREATE or REPLACE statement is Flink's or Spark's, without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.statement_types import CreateTable, CreateView
from kafka_sql.sql.recognize.token_cursor import TokenCursor

# Clauses of Spark's CREATE TABLE. Flink's WITH comes before AS, so nothing after AS needs to be read.
_SPARK_CLAUSES = {"USING", "OPTIONS", "TBLPROPERTIES", "LOCATION", "STORED", "ROW", "CLUSTERED", "CLUSTER"}
_SPARK_TERMINATORS = {*_SPARK_CLAUSES, "AS", "SELECT"}
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def classify_create(sql: str, cursor: TokenCursor) -> CreateTable | CreateView | None:
    """Classify the tokens after CREATE; return None for a Spark statement."""
    words: set[str] = set()
    while (word := cursor.take()) is not None and word.upper in ("OR", "REPLACE", "TEMPORARY", "TEMP", "GLOBAL"):
        words.add(word.upper)
    if word is not None and word.upper == "TABLE":
        return _classify_table(sql, word.end)
    if word is None or word.upper != "VIEW":
        return None
    if_not_exists = cursor.take_words("IF", "NOT", "EXISTS")
    name = cursor.take_name()
    is_temporary, keeps_tables = bool(words & {"TEMPORARY", "TEMP"}), if_not_exists or "GLOBAL" in words
    return CreateView(name, is_temporary, keeps_tables) if name else None


def classify_replace(sql: str, cursor: TokenCursor) -> CreateTable | None:
    """Classify the tokens after REPLACE; return None for a Spark statement."""
    return _classify_table(sql, cursor.end) if cursor.take_words("TABLE") else None


def _classify_table(sql: str, start: int) -> CreateTable | None:
    """Classify the text after CREATE TABLE: Flink's if it has WITH, an option, or LIKE and a table.

    Invalid statements that can only be Flink's are returned too, because Spark's error would quote their options.
    """
    depth, last = 0, "TABLE"
    base: tuple[str, ...] | None = None
    cursor = TokenCursor(_tokenize(sql, start))
    while (token := cursor.take()) is not None:
        # at any depth, so that a missing parenthesis is reported as an error in Flink's DDL
        if token.text == "(" and last == "WITH":
            return None if depth > 0 and _is_spark_text(sql, start) else CreateTable()
        if token.text.startswith("/*"):  # an unclosed comment: guess from its text
            return CreateTable() if "WITH" in token.text.upper() else None
        if token.type == lexer.STRING and _is_option(cursor, depth, last):
            return CreateTable()
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        is_name = last in (".", "TABLE", "EXISTS")
        if depth <= 0 and not is_name and token.upper in _SPARK_TERMINATORS:
            return None
        if depth == 0 and not is_name and token.upper == "LIKE" and base is None:
            base = cursor.take_name()
        last = "name" if is_name else token.upper or token.text
    return CreateTable(base) if base else None


def _is_option(cursor: TokenCursor, depth: int, last: str) -> bool:
    """Return whether the string just taken is an option key, even if WITH is misspelled or its parenthesis missing.

    Spark never has ``'key' =`` here: it has column names inside parentheses, and a clause keyword before options.
    """
    following = cursor.peek()
    if depth > 1 or (depth == 1 and last not in ("(", ",")):
        return False
    return last == "WITH" or (following is not None and following.text == "=")


def _tokenize(sql: str, start: int) -> Iterator[Token]:
    """Yield Flink's tokens, with each of Spark's double-quoted strings (which Flink does not have) as one token."""
    while True:
        for token in lexer.tokenize_flink(sql, start):
            quoted = _DOUBLE_QUOTED.match(sql, token.start) if token.text == '"' else None
            if quoted is not None:
                start = quoted.end()
                yield Token(lexer.STRING, quoted[0], quoted.start(), start)
                break
            yield token
        else:
            return


def _is_spark_text(sql: str, start: int) -> bool:
    """Return whether a statement that seems to have WITH inside parentheses is Spark's, judging by Spark's tokens.

    It is if one of Spark's clauses follows the column list. It also is if ``WITH (`` is not among Spark's tokens: then
    it is part of a string with a backslash, which Flink's tokens end too early.
    """
    depth, last, is_after_columns, has_with = 0, "", False, False
    for token in lexer.tokenize_spark(sql, start):
        has_with |= token.text == "(" and last == "WITH"
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        is_after_columns |= token.text == ")" and depth == 0
        if is_after_columns and depth == 0 and token.upper in _SPARK_CLAUSES:
            return True
        last = token.upper
    return not has_with
