"""Text to statements, at the semicolons that end them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_sql.sql.recognize import classify as st
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

# Inside BEGIN ... END, the words after which a statement starts; also the colon behind a label.
_BEFORE_A_STATEMENT = {"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"}
_OTHER_ENDS = {"IF", "WHILE", "LOOP", "REPEAT", "FOR"}  # END IF and so on close what is not counted


class SplitStatement(NamedTuple):
    """A statement without its semicolon, and where it starts in the text."""

    text: str
    start: int


def split(text: str) -> tuple[list[SplitStatement], int]:
    """The statements of ``text`` that end in a semicolon, and where the rest starts.

    Strings, quoted names, comments and blocks (``BEGIN ... END`` of SQL scripts and statement sets) are read over.
    Statements that consist of comments only are left out.
    """
    pieces, start = [], 0
    while (end := _end(text, start)) is not None:
        pieces += _piece(text, start, end)
        start = end + 1
    return pieces, start


def statements(text: str) -> Iterator[SplitStatement]:
    """All statements of ``text``; the last one needs no semicolon. A comment that is not closed is one, too."""
    pieces, rest = split(text)
    yield from pieces
    yield from _piece(text, rest, len(text))


def _piece(text: str, start: int, end: int) -> list[SplitStatement]:
    first = next(
        lexer.tokenize_spark(text[start:end]), None
    )  # comments before it would shift the lines in error messages
    if first is not None:
        return [SplitStatement(text[start + first.start : end].rstrip(), start + first.start)]
    body = text[start:end].strip()
    return [SplitStatement(body, text.index(body, start))] if _in_comment(body) else []


def _in_comment(body: str) -> bool:
    """Whether a bracketed comment is open at the end: then a word behind it is not seen."""
    return next(lexer.tokenize_spark(f"{body}\nx"), None) is None


def _end(text: str, start: int) -> int | None:
    """The place of the semicolon that ends the statement at ``start``; None if there is none."""
    # Flink's strings know no backslash escapes, Spark's do: 'C:\' is a whole string in one of them only. So what can
    # be a statement of Flink's is read in its way first.
    flinks = _semicolon(lexer.tokenize_flink(text, start)) if _can_be_flinks(text, start) else None
    if flinks is not None and _is_flinks(st.classify(text[start:flinks])):
        return flinks
    return _semicolon(lexer.tokenize_spark(text, start))


def _can_be_flinks(text: str, start: int) -> bool:
    first = next(lexer.tokenize_flink(text, start), None)
    return first is not None and first.upper in ("CREATE", "ALTER", "SET", "RESET")


def _is_flinks(kind: st.Statement | None) -> bool:
    return kind is not None and not isinstance(kind, st.Insert)


def _semicolon(lexemes: Iterator[Token]) -> int | None:
    """The first semicolon outside blocks.

    CASE counts inside blocks only, where its expression and its statement both end with END; outside, END closes
    nothing. Columns called ``begin``, ``case`` or ``end`` are told by their place.
    """
    blocks: list[str] = []  # BEGIN or CASE, the innermost last
    before = last = ""  # the two words or symbols before
    starts, label, handler = True, False, False  # whether a statement, a label's colon, a handler's BEGIN can be here
    for lexeme, following in _with_next(lexemes):
        word = "" if last in (".", "AS") else lexeme.upper
        if lexeme.text == ";" and not blocks:
            return lexeme.start
        if lexeme.text in ("'", '"', "`"):  # not closed
            return None
        begins = word == "BEGIN" and (starts or handler or (before, last) == ("STATEMENT", "SET"))
        if begins or (word == "CASE" and blocks and last != "END"):
            blocks.append(word)
        elif word == "END" and blocks and following not in _OTHER_ENDS and (starts or blocks[-1] == "CASE"):
            blocks.pop()
        if starts:
            handler = word == "DECLARE"
        colon = label and lexeme.text == ":"
        label = starts and lexeme.type in (lexer.WORD, lexer.QUOTED)
        starts = colon or lexeme.text == ";" or (bool(blocks) and word in _BEFORE_A_STATEMENT)
        before, last = last, lexeme.upper or lexeme.text
    return None


def _with_next(lexemes: Iterator[Token]) -> Iterator[tuple[Token, str]]:
    """Each lexeme with the keyword behind it."""
    lexeme = next(lexemes, None)
    while lexeme is not None:
        following = next(lexemes, None)
        yield lexeme, following.upper if following is not None else ""
        lexeme = following
