"""Statements around statements: EXPLAIN, EXECUTE, and the two forms of a statement set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.statement_types import Execute, Explain, StatementSet
from kafka_sql.sql.recognize.token_cursor import TokenCursor

_SPARKS_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
# Flink's details, and Spark's mode that is nearest.
_DETAILS = {
    "ESTIMATED_COST": "COST",
    "CHANGELOG_MODE": "EXTENDED",
    "JSON_EXECUTION_PLAN": "EXTENDED",
    "PLAN_ADVICE": "EXTENDED",
}


def classify_explain(sql: str, tokens: Iterator[Token]) -> Explain | None:
    """What follows EXPLAIN."""
    cursor = TokenCursor(tokens)
    mode, sparks = "", True
    if cursor.take_words("PLAN", "FOR"):
        sparks = False
    elif detail := _word(cursor, _DETAILS):
        mode, sparks = _DETAILS[detail], False
        while cursor.take_symbol(","):
            if (detail := _word(cursor, _DETAILS)) is None:
                return None
            mode = mode or _DETAILS[detail]
    else:
        mode = _word(cursor, _SPARKS_MODES) or ""
    first = cursor.peek()
    return Explain(mode, sql[first.start :], sparks) if first is not None else None


def _word(cursor: TokenCursor, words: Iterable[str]) -> str | None:
    return next((word for word in words if cursor.take_words(word)), None)


def classify_execute(sql: str, tokens: Iterator[Token]) -> StatementSet | Execute | None:
    """What follows EXECUTE; EXECUTE IMMEDIATE is Spark's."""
    cursor = TokenCursor(tokens)
    if cursor.take_words("STATEMENT", "SET"):
        return statement_set(sql, cursor.end, begun=False)
    first = cursor.peek()
    if first is None or first.upper in ("IMMEDIATE", "EXECUTE"):
        return None
    return Execute(sql[first.start :])


def classify_statement_set(sql: str, tokens: Iterator[Token]) -> StatementSet | None:
    """What follows STATEMENT, where EXECUTE was left out, as behind EXPLAIN."""
    cursor = TokenCursor(tokens)
    if not cursor.take_words("SET"):
        return None
    return statement_set(sql, cursor.end, begun=False)


def classify_begin(sql: str, tokens: Iterator[Token]) -> StatementSet | None:
    """What follows BEGIN; without STATEMENT SET it is Spark's."""
    cursor = TokenCursor(tokens)
    if not cursor.take_words("STATEMENT", "SET"):
        return None
    if not cursor.take_symbol(";") and cursor.peek() is not None:
        return None
    return statement_set(sql, cursor.end, begun=True)


def statement_set(sql: str, start: int, begun: bool) -> StatementSet | None:
    """The statements from ``start`` up to END.

    Args:
        begun: BEGIN stood before; else it comes first.
    """
    pieces: list[str] = []
    piece: list[Token] = []
    for token in lexer.tokenize_spark(sql, start):
        if not begun:
            if token.upper != "BEGIN":
                return None
            begun, start = True, token.end
        elif token.type == lexer.SYMBOL and token.text == ";":
            if _is_end(piece):
                return StatementSet(tuple(pieces)) if not sql[token.end :].strip("; \n\r\t") else None
            if piece:
                pieces.append(sql[start : token.start].strip())
            piece, start = [], token.end
        else:
            piece.append(token)
    if _is_end(piece):
        return StatementSet(tuple(pieces))
    last = sql[start:].strip() if piece else ""
    return StatementSet((*pieces, last) if last else tuple(pieces), has_end=False)


def _is_end(piece: list[Token]) -> bool:
    return len(piece) == 1 and piece[0].upper == "END"
