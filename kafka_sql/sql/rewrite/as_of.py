"""Parse ``FOR SYSTEM_TIME AS OF o.ts``, the clause of Flink's lookup joins and temporal joins.

Spark has the clause, too, but only with a constant time, for time travel. That form is left to Spark.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

_CLAUSE = ("FOR", "SYSTEM_TIME", "AS", "OF")


@dataclass(frozen=True)
class AsOf:
    """The clause ``sql[start:end]``.

    Attributes:
        time: the parts of the column's name, such as ``("o", "ts")``.
        join: the words before the table, such as ``("LEFT", "JOIN")``; empty after a comma or FROM.
    """

    time: tuple[str, ...]
    start: int
    end: int
    join: tuple[str, ...] = ()


def starts_with_as_of(tokens: list[Token], index: int) -> bool:
    """Return whether the clause starts at ``tokens[index]``, in Flink's or Spark's form."""
    return tuple(token.upper for token in tokens[index : index + len(_CLAUSE)]) == _CLAUSE


def parse_as_of(tokens: list[Token], index: int) -> tuple[AsOf, int] | None:
    """Return the clause at ``tokens[index]`` and the index after it; None without it or if its time is not a column."""
    if not starts_with_as_of(tokens, index):
        return None
    start, index = tokens[index].start, index + len(_CLAUSE)
    parts: list[str] = []
    while index < len(tokens) and tokens[index].type in (lexer.WORD, lexer.QUOTED):
        parts.append(tokens[index].name)
        index += 1
        if index >= len(tokens) or tokens[index].text != ".":
            break
        index += 1
    is_call = index < len(tokens) and tokens[index].text == "("
    followed_by_literal = index < len(tokens) and tokens[index].type in (lexer.STRING, lexer.NUMBER)  # TIMESTAMP '...'
    if not parts or is_call or followed_by_literal:
        return None
    return AsOf(tuple(parts), start, tokens[index - 1].end), index


_JOIN_WORDS = {"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "SEMI", "ANTI", "NATURAL", "JOIN", "LATERAL"}


def join_words(tokens: list[Token], index: int) -> tuple[str, ...]:
    """Return the words of the join before ``tokens[index]``."""
    words: list[str] = []
    while index > 0 and tokens[index - 1].upper in _JOIN_WORDS:
        index -= 1
        words.insert(0, tokens[index].upper)
    return tuple(words)
