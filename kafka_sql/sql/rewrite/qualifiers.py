"""Shorten column qualifiers such as ``db.t.a`` where a subquery with alias ``t`` replaces the table.

A subquery alias cannot have a database, so ``db.t.a`` becomes ``t.a``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import Edit

QualifiedName = tuple[str, ...]


def shorten_qualifiers(query: QueryText, aliases: Mapping[QualifiedName, str]) -> Iterator[Edit]:
    """Yield the edits that replace column qualifiers with aliases.

    Edits of table names, which are not columns, are longer and therefore come first.
    """
    index = 0
    while index < len(query.tokens):
        parts = _read_dotted_name(query, index)
        names = tuple(part.lower() for part in parts)
        length = next((n for n in (3, 2) if len(parts) > n and names[:n] in aliases), 0)
        if length:
            yield Edit(*query.span(range(index, index + 2 * length - 1)), quote(aliases[names[:length]]))
        index += max(2 * len(parts) - 1, 1)


def _read_dotted_name(query: QueryText, index: int) -> list[str]:
    """Return the parts of a dotted name that starts at ``index``; the last part may be a star."""
    parts: list[str] = []
    while index < len(query.tokens) and query.tokens[index].is_identifier:
        parts.append(query.tokens[index].name)
        if index + 2 >= len(query.tokens) or query.word(index + 1) != ".":
            return parts
        index += 2
    return [*parts, "*"] if parts else []
