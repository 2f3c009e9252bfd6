"""Split text into statements at the semicolons that end them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_sql.sql.recognize import classify as st
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

# Inside BEGIN ... END: the words after which a statement starts (so it does after the colon of a label).
_STATEMENT_FOLLOWS = {"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"}
_UNCOUNTED_BLOCKS = {"IF", "WHILE", "LOOP", "REPEAT", "FOR"}  # END IF and so on


class SplitStatement(NamedTuple):
    """A statement without its semicolon, and its start in the text."""

    text: str
    start: int


def split(text: str) -> tuple[list[SplitStatement], int]:
    """Return the statements of ``text`` that end with a semicolon, and where the rest starts.

    Semicolons in strings, quoted names, comments and blocks (``BEGIN ... END`` of SQL scripts and statement sets) do
    not count. Statements that consist of comments only are omitted.
    """
    complete, start = [], 0
    while (end := _find_end(text, start)) is not None:
        complete += _make_statement(text, start, end)
        start = end + 1
    return complete, start


def statements(text: str) -> Iterator[SplitStatement]:
    """Yield all statements of ``text``; the last one needs no semicolon. An unclosed comment is a statement, too."""
    complete, rest = split(text)
    yield from complete
    yield from _make_statement(text, rest, len(text))


def _make_statement(text: str, start: int, end: int) -> list[SplitStatement]:
    first = next(lexer.tokenize_spark(text[start:end]), None)
    if first is not None:
        # omit leading comments: they would shift the lines in error messages
        return [SplitStatement(text[start + first.start : end].rstrip(), start + first.start)]
    body = text[start:end].strip()
    return [SplitStatement(body, text.index(body, start))] if _ends_in_comment(body) else []


def _ends_in_comment(body: str) -> bool:
    """Return whether a bracketed comment is open at the end, which would hide a word after it."""
    return next(lexer.tokenize_spark(f"{body}\nx"), None) is None


def _find_end(text: str, start: int) -> int | None:
    """Return the position of the semicolon that ends the statement at ``start``; None if it has no semicolon."""
    # Spark's strings have backslash escapes, Flink's do not: 'C:\' is a complete string only in Flink. So try Flink's
    # rules first, if the statement may be Flink's.
    end = _find_semicolon(lexer.tokenize_flink(text, start)) if _may_be_flink(text, start) else None
    if end is not None and _is_flink(st.classify(text[start:end])):
        return end
    return _find_semicolon(lexer.tokenize_spark(text, start))


def _may_be_flink(text: str, start: int) -> bool:
    first = next(lexer.tokenize_flink(text, start), None)
    return first is not None and first.upper in ("CREATE", "ALTER", "SET", "RESET")


def _is_flink(statement: st.Statement | None) -> bool:
    return statement is not None and not isinstance(statement, st.Insert)


def _find_semicolon(tokens: Iterator[Token]) -> int | None:
    """Return the position of the first semicolon outside blocks.

    CASE counts only inside blocks, where both its expression and its statement end with END. Outside blocks, END closes
    nothing. Columns named ``begin``, ``case`` or ``end`` are recognized by their position.
    """
    blocks: list[str] = []  # BEGIN or CASE, the innermost last
    before = last = ""  # the two words or symbols before
    # whether a statement, the colon of a label, the BEGIN of a handler may come next
    starts, label, handler = True, False, False
    for token, following in _with_next(tokens):
        word = "" if last in (".", "AS") else token.upper
        if token.text == ";" and not blocks:
            return token.start
        if token.text in ("'", '"', "`"):  # an unclosed quote
            return None
        begins = word == "BEGIN" and (starts or handler or (before, last) == ("STATEMENT", "SET"))
        if begins or (word == "CASE" and blocks and last != "END"):
            blocks.append(word)
        elif word == "END" and blocks and following not in _UNCOUNTED_BLOCKS and (starts or blocks[-1] == "CASE"):
            blocks.pop()
        if starts:
            handler = word == "DECLARE"
        colon = label and token.text == ":"
        label = starts and token.type in (lexer.WORD, lexer.QUOTED)
        starts = colon or token.text == ";" or (bool(blocks) and word in _STATEMENT_FOLLOWS)
        before, last = last, token.upper or token.text
    return None


def _with_next(tokens: Iterator[Token]) -> Iterator[tuple[Token, str]]:
    """Yield each token with the keyword after it."""
    token = next(tokens, None)
    while token is not None:
        following = next(tokens, None)
        yield token, following.upper if following is not None else ""
        token = following
