"""Recognize statements that only Flink has: Spark's error would be a syntax error at the second word."""

from __future__ import annotations

from itertools import islice
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.statement_types import FlinkStatement

_FIRST_WORDS: Final = {
    ("COMPILE", "PLAN"): "COMPILE PLAN",
    ("COMPILE", "AND", "EXECUTE", "PLAN"): "COMPILE PLAN",
    ("EXECUTE", "PLAN"): "EXECUTE PLAN",
    ("CREATE", "MATERIALIZED", "TABLE"): "CREATE MATERIALIZED TABLE",
    ("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE"): "CREATE MATERIALIZED TABLE",
    ("ALTER", "MATERIALIZED", "TABLE"): "ALTER MATERIALIZED TABLE",
    ("DROP", "MATERIALIZED", "TABLE"): "DROP MATERIALIZED TABLE",
    ("CREATE", "MODEL"): "CREATE MODEL",
    ("CREATE", "TEMPORARY", "MODEL"): "CREATE MODEL",
}
_LONGEST: Final = max(map(len, _FIRST_WORDS))


def classify_flink(sql: str) -> FlinkStatement | None:
    """Return the statement if only Flink has it."""
    words = tuple(token.upper for token in islice(lexer.tokenize_flink(sql), _LONGEST))
    verb = next((verb for first, verb in _FIRST_WORDS.items() if words[: len(first)] == first), None)
    if words[:2] == ("CREATE", "CATALOG") and any(token.upper == "WITH" for token in lexer.tokenize_flink(sql)):
        verb = "CREATE CATALOG"  # without WITH, it is a statement of Unity Catalog
    return FlinkStatement(verb) if verb is not None else None
