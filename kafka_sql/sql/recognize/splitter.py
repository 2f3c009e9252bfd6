"""Split text into statements at the semicolons that end them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.lexer import Token

# Inside BEGIN ... END: the words after which a statement starts (so it does after the colon of a label).
_STATEMENT_FOLLOWS = {"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"}
_UNCOUNTED_BLOCKS = {"IF", "WHILE", "LOOP", "REPEAT", "FOR"}  # END IF and so on


class SplitStatement(NamedTuple):
    """A statement without its semicolon, and its start in the text."""

    text: str
    start: int


def split(text: str) -> tuple[list[SplitStatement], int]:
    """Return the statements of ``text`` that end with a semicolon, and the offset after the last of them.

    Semicolons in strings, quoted names, comments and blocks (``BEGIN ... END`` of SQL scripts and statement sets) do
    not count. Statements that consist of comments only are omitted.
    """
    complete_statements, start = [], 0
    while (end := _find_end(text, start)) is not None:
        complete_statements += _make_statement(text, start, end)
        start = end + 1
    return complete_statements, start


def statements(text: str) -> Iterator[SplitStatement]:
    """Yield all statements of ``text``; the last one needs no semicolon. An unclosed comment is a statement, too."""
    complete_statements, end = split(text)
    yield from complete_statements
    yield from _make_statement(text, end, len(text))


def _make_statement(text: str, start: int, end: int) -> list[SplitStatement]:
    """Return the statement ``text[start:end]``; an empty list if it consists of comments only."""
    first = next(lexer.tokenize_spark(text[start:end]), None)
    if first is not None:
        # omit leading comments: they would shift the lines in error messages
        return [SplitStatement(text[start + first.start : end].rstrip(), start + first.start)]
    body = text[start:end].strip()
    # a bracketed comment that is open at the end would hide a word after it
    is_open = next(lexer.tokenize_spark(f"{body}\nx"), None) is None
    return [SplitStatement(body, text.index(body, start))] if is_open else []


def _find_end(text: str, start: int) -> int | None:
    """Return the position of the semicolon that ends the statement at ``start``; None if it has no semicolon."""
    # Spark's strings have backslash escapes, Flink's do not: 'C:\' is a complete string only in Flink. So try Flink's
    # rules first, if the statement may be Flink's.
    first = next(lexer.tokenize_flink(text, start), None)
    if first is not None and first.upper in ("CREATE", "ALTER", "SET", "RESET"):
        end = _find_semicolon(lexer.tokenize_flink(text, start))
        statement = classify(text[start:end]) if end is not None else None
        if statement is not None and not isinstance(statement, st.Insert):
            return end
    return _find_semicolon(lexer.tokenize_spark(text, start))


def _find_semicolon(tokens: Iterator[Token]) -> int | None:
    """Return the position of the first semicolon outside blocks.

    CASE counts only inside blocks, where both its expression and its statement end with END. Outside blocks, END closes
    nothing. Columns named ``begin``, ``case`` or ``end`` are recognized by their position.
    """
    blocks: list[str] = []  # BEGIN or CASE, the innermost last
    second_last = last = ""  # the two preceding words or symbols
    is_start = True  # whether a statement may start with this token
    may_be_colon = False  # whether this token may be the colon of a label
    is_declaration = False  # whether the statement is DECLARE, which may contain the BEGIN of a handler
    for token, following in pairwise(chain(tokens, [None])):
        assert token is not None
        word = "" if last in (".", "AS") else token.upper
        if token.text == ";" and not blocks:
            return token.start
        if token.text in ("'", '"', "`"):  # an unclosed quote
            return None
        opens = word == "BEGIN" and (is_start or is_declaration or (second_last, last) == ("STATEMENT", "SET"))
        if opens or (word == "CASE" and blocks and last != "END"):
            blocks.append(word)
        elif (
            word == "END"
            and blocks
            and (following is None or following.upper not in _UNCOUNTED_BLOCKS)
            and (is_start or blocks[-1] == "CASE")
        ):
            blocks.pop()
        if is_start:
            is_declaration = word == "DECLARE"
        follows_label = may_be_colon and token.text == ":"
        may_be_colon = is_start and token.type in (lexer.WORD, lexer.QUOTED)
        is_start = follows_label or token.text == ";" or (bool(blocks) and word in _STATEMENT_FOLLOWS)
        second_last, last = last, token.upper or token.text
    return None
