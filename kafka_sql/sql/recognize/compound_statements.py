"""Classify statements that contain statements: EXPLAIN, EXECUTE and both forms of a statement set."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.statement_types import Execute, Explain, StatementSet
from kafka_sql.sql.recognize.token_cursor import TokenCursor

_SPARK_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
# Flink's explain details, each with the closest mode of Spark.
_DETAILS = {
    "ESTIMATED_COST": "COST",
    "CHANGELOG_MODE": "EXTENDED",
    "JSON_EXECUTION_PLAN": "EXTENDED",
    "PLAN_ADVICE": "EXTENDED",
}


def classify_explain(sql: str, cursor: TokenCursor) -> Explain | None:
    """Classify the tokens after EXPLAIN."""
    mode, is_spark_syntax = "", True
    if cursor.take_words("PLAN", "FOR"):
        is_spark_syntax = False
    elif detail := _take_any(cursor, _DETAILS):
        mode, is_spark_syntax = _DETAILS[detail], False
        while cursor.take_symbol(","):
            if (detail := _take_any(cursor, _DETAILS)) is None:
                return None
            mode = mode or _DETAILS[detail]
    else:
        mode = _take_any(cursor, _SPARK_MODES) or ""
    first = cursor.peek()
    return Explain(mode, sql[first.start :], is_spark_syntax) if first is not None else None


def _take_any(cursor: TokenCursor, words: Iterable[str]) -> str | None:
    return next((word for word in words if cursor.take_words(word)), None)


def classify_execute(sql: str, cursor: TokenCursor) -> StatementSet | Execute | None:
    """Classify the tokens after EXECUTE; EXECUTE IMMEDIATE is Spark's."""
    if cursor.take_words("STATEMENT", "SET"):
        return parse_statement_set(sql, cursor.end, has_begin=False)
    first = cursor.peek()
    if first is None or first.upper in ("IMMEDIATE", "EXECUTE"):
        return None
    return Execute(sql[first.start :])


def classify_statement_set(sql: str, cursor: TokenCursor) -> StatementSet | None:
    """Classify the tokens after STATEMENT (without EXECUTE, as in EXPLAIN STATEMENT SET)."""
    if not cursor.take_words("SET"):
        return None
    return parse_statement_set(sql, cursor.end, has_begin=False)


def classify_begin(sql: str, cursor: TokenCursor) -> StatementSet | None:
    """Classify the tokens after BEGIN; without STATEMENT SET it is Spark's."""
    if not cursor.take_words("STATEMENT", "SET"):
        return None
    if not cursor.take_symbol(";") and cursor.peek() is not None:
        return None
    return parse_statement_set(sql, cursor.end, has_begin=True)


def parse_statement_set(sql: str, start: int, has_begin: bool) -> StatementSet | None:
    """Split a statement set from offset ``start`` up to END into its statements.

    Args:
        has_begin: whether BEGIN was already read; otherwise it must come first.
    """
    statements: list[str] = []
    tokens: list[Token] = []
    for token in lexer.tokenize_spark(sql, start):
        if not has_begin:
            if token.upper != "BEGIN":
                return None
            has_begin, start = True, token.end
        elif token.type == lexer.SYMBOL and token.text == ";":
            if _is_end(tokens):
                return StatementSet(tuple(statements)) if not sql[token.end :].strip("; \n\r\t") else None
            if tokens:
                statements.append(sql[start : token.start].strip())
            tokens, start = [], token.end
        else:
            tokens.append(token)
    if _is_end(tokens):
        return StatementSet(tuple(statements))
    last = sql[start:].strip() if tokens else ""
    return StatementSet((*statements, last) if last else tuple(statements), has_end=False)


def _is_end(tokens: list[Token]) -> bool:
    return len(tokens) == 1 and tokens[0].upper == "END"
