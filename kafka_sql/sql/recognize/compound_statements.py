"""Statements around statements: EXPLAIN, EXECUTE, and the two forms of a statement set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Lexeme
from kafka_sql.sql.recognize.statement_types import Execute, Explain, StatementSet
from kafka_sql.sql.recognize.token_cursor import Head

_SPARKS_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
# Flink's details, and Spark's mode that is nearest.
_DETAILS = {
    "ESTIMATED_COST": "COST",
    "CHANGELOG_MODE": "EXTENDED",
    "JSON_EXECUTION_PLAN": "EXTENDED",
    "PLAN_ADVICE": "EXTENDED",
}


def explain(sql: str, lexemes: Iterator[Lexeme]) -> Explain | None:
    """What follows EXPLAIN."""
    head = Head(lexemes)
    mode, sparks = "", True
    if head.words("PLAN", "FOR"):
        sparks = False
    elif detail := _word(head, _DETAILS):
        mode, sparks = _DETAILS[detail], False
        while head.symbol(","):
            if (detail := _word(head, _DETAILS)) is None:
                return None
            mode = mode or _DETAILS[detail]
    else:
        mode = _word(head, _SPARKS_MODES) or ""
    first = head.peek()
    return Explain(mode, sql[first.start :], sparks) if first is not None else None


def _word(head: Head, words: Iterable[str]) -> str | None:
    return next((word for word in words if head.words(word)), None)


def execute(sql: str, lexemes: Iterator[Lexeme]) -> StatementSet | Execute | None:
    """What follows EXECUTE; EXECUTE IMMEDIATE is Spark's."""
    head = Head(lexemes)
    if head.words("STATEMENT", "SET"):
        return statement_set(sql, head.end, begun=False)
    first = head.peek()
    if first is None or first.upper in ("IMMEDIATE", "EXECUTE"):
        return None
    return Execute(sql[first.start :])


def statement(sql: str, lexemes: Iterator[Lexeme]) -> StatementSet | None:
    """What follows STATEMENT, where EXECUTE was left out, as behind EXPLAIN."""
    head = Head(lexemes)
    if not head.words("SET"):
        return None
    return statement_set(sql, head.end, begun=False)


def begin(sql: str, lexemes: Iterator[Lexeme]) -> StatementSet | None:
    """What follows BEGIN; without STATEMENT SET it is Spark's."""
    head = Head(lexemes)
    if not head.words("STATEMENT", "SET"):
        return None
    if not head.symbol(";") and head.peek() is not None:
        return None
    return statement_set(sql, head.end, begun=True)


def statement_set(sql: str, start: int, begun: bool) -> StatementSet | None:
    """The statements from ``start`` up to END.

    Args:
        begun: BEGIN stood before; else it comes first.
    """
    pieces: list[str] = []
    piece: list[Lexeme] = []
    for lexeme in lexer.spark(sql, start):
        if not begun:
            if lexeme.upper != "BEGIN":
                return None
            begun, start = True, lexeme.end
        elif lexeme.kind == lexer.SYMBOL and lexeme.text == ";":
            if _is_end(piece):
                return StatementSet(tuple(pieces)) if not sql[lexeme.end :].strip("; \n\r\t") else None
            if piece:
                pieces.append(sql[start : lexeme.start].strip())
            piece, start = [], lexeme.end
        else:
            piece.append(lexeme)
    if _is_end(piece):
        return StatementSet(tuple(pieces))
    last = sql[start:].strip() if piece else ""
    return StatementSet((*pieces, last) if last else tuple(pieces), ended=False)


def _is_end(piece: list[Lexeme]) -> bool:
    return len(piece) == 1 and piece[0].upper == "END"
