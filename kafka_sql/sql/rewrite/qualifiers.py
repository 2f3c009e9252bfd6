"""Columns that are qualified with more than the table's name, ``db.t.a``, where a subquery called ``t`` replaces it.

Only the qualifier is edited; a subquery's alias cannot have a database.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.sql.recognize import lexer

Name = tuple[str, ...]
Edit = tuple[int, int, str]


def shorten_qualifiers(sql: str, names: Mapping[Name, str], spans: Collection[tuple[int, int]]) -> list[Edit]:
    """The edits that put an alias where a column is qualified with one of the names.

    Args:
        names: the qualifiers in lower case, of two parts or three, and the alias that stands for each.
        spans: where the tables' own names stand, which are no columns.
    """
    lexemes = list(lexer.tokenize_spark(sql))
    edits = []
    at = 0
    while at < len(lexemes):
        parts = _chain(lexemes, at)
        start = lexemes[at].start
        known = [n for n in (3, 2) if len(parts) > n and tuple(p.lower() for p in parts[:n]) in names]
        if known and not any(first <= start < last for first, last in spans):
            length = known[0]
            alias = names[tuple(p.lower() for p in parts[:length])]
            edits.append((start, lexemes[at + 2 * length - 2].end, quote(alias)))
        at += max(2 * len(parts) - 1, 1)
    return edits


def _chain(lexemes: list[lexer.Token], at: int) -> list[str]:
    """The parts of a dotted name that starts at ``at``, a star for the last one included."""
    parts: list[str] = []
    while at < len(lexemes) and lexemes[at].type in (lexer.WORD, lexer.QUOTED):
        parts.append(lexemes[at].name)
        if at + 2 >= len(lexemes) or lexemes[at + 1].text != ".":
            return parts
        at += 2
    return [*parts, "*"] if parts else []
