"""Shorten column qualifiers such as ``db.t.a`` where a subquery with alias ``t`` replaces the table.

A subquery alias cannot have a database, so ``db.t.a`` becomes ``t.a``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.rewrite.table_references import Edit

QualifiedName = tuple[str, ...]


def shorten_qualifiers(
    sql: str, aliases: Mapping[QualifiedName, str], spans: Collection[tuple[int, int]]
) -> list[Edit]:
    """Return the edits that replace column qualifiers with aliases.

    Args:
        aliases: the alias of each qualifier; qualifiers are in lower case and have two or three parts.
        spans: the positions of the table names themselves, which are not columns.
    """
    tokens = list(lexer.tokenize_spark(sql))
    edits = []
    index = 0
    while index < len(tokens):
        parts = _read_dotted_name(tokens, index)
        start = tokens[index].start
        lengths = [n for n in (3, 2) if len(parts) > n and tuple(p.lower() for p in parts[:n]) in aliases]
        if lengths and not any(first <= start < last for first, last in spans):
            length = lengths[0]
            alias = aliases[tuple(p.lower() for p in parts[:length])]
            edits.append((start, tokens[index + 2 * length - 2].end, quote(alias)))
        index += max(2 * len(parts) - 1, 1)
    return edits


def _read_dotted_name(tokens: list[lexer.Token], index: int) -> list[str]:
    """Return the parts of a dotted name that starts at ``index``; the last part may be a star."""
    parts: list[str] = []
    while index < len(tokens) and tokens[index].type in (lexer.WORD, lexer.QUOTED):
        parts.append(tokens[index].name)
        if index + 2 >= len(tokens) or tokens[index + 1].text != ".":
            return parts
        index += 2
    return [*parts, "*"] if parts else []
