"""Recognize Flink's lookup joins and temporal joins: ``JOIN t FOR SYSTEM_TIME AS OF o.ts AS t ON ...``.

The time is a processing time, ``PROCTIME()``, or an event time, the column of a watermark. Spark has neither the clause
nor the function. A lookup join becomes a join without the clause, for which each micro-batch reads the table again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Final

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import TableReference, find_table_references
from kafka_sql.sql.recognize.table_suffix import AsOf
from kafka_sql.sql.rewrite.edits import Edit
from kafka_sql.sql.rewrite.views import find_view

PROCTIME: Final = "PROCTIME"
_PROCTIME_CALL: Final = re.compile(r"PROCTIME\s*\(\s*\)", re.IGNORECASE)
_LOOKUP_HINT: Final = re.compile(r"/\*\+(?:\s*,?\s*LOOKUP\s*\((?:[^()']|'[^']*')*\))+\s*\*/", re.IGNORECASE)
_CURRENT_TIMESTAMP: Final = "current_timestamp()"


class TimeAttribute(Enum):
    """What ``FOR SYSTEM_TIME AS OF`` refers to."""

    PROCESSING_TIME = "processing time"
    EVENT_TIME = "event time"


def replace_proctime(query: QueryText) -> list[Edit]:
    """Return the edits that replace Flink's ``PROCTIME()`` with Spark's time of the query or micro-batch."""
    if not _PROCTIME_CALL.search(query.text):
        return []
    names = [i for i, token in enumerate(query.tokens) if token.upper == PROCTIME]
    calls = [range(i, i + 3) for i in names if (query.word(i + 1), query.word(i + 2)) == ("(", ")")]
    return [Edit(*query.span(call), _CURRENT_TIMESTAMP) for call in calls]


def remove_lookup_hints(query: QueryText) -> list[Edit]:
    """Return the edits that remove Flink's hint ``/*+ LOOKUP('table' = 't', ...) */``, which Spark cannot parse."""
    return [Edit(hint.start, hint.end, "") for hint in query.hints if _LOOKUP_HINT.fullmatch(hint.text)]


def check_join(reference: TableReference, as_of: AsOf) -> None:
    """Check that a table with the clause is joined as Flink supports it.

    Raises:
        UnsupportedSqlError: the join is not an inner or a left outer join; or the table is to be read as a stream.
    """
    name = ".".join(reference.name)
    if reference.is_stream:
        raise UnsupportedSqlError(
            f"Table '{name}': STREAM and FOR SYSTEM_TIME AS OF exclude each other. Remove STREAM.", table=name
        )
    words = [word for word in as_of.join if word not in ("OUTER", "LATERAL")]
    if words not in ([], ["JOIN"], ["INNER", "JOIN"], ["LEFT", "JOIN"], ["CROSS", "JOIN"]):
        raise UnsupportedSqlError(
            f"Table '{name}': {' '.join(as_of.join)} ... FOR SYSTEM_TIME AS OF is not supported, as in Flink. "
            "Temporal joins are INNER JOIN or LEFT JOIN: the table with the clause is on the right.",
            table=name,
        )


def find_time_attribute(
    tables: Tables, query: QueryText, references: Sequence[TableReference], reference: TableReference
) -> TimeAttribute:
    """Return whether the time of a temporal join is a processing time or an event time.

    Raises:
        UnsupportedSqlError: the column is neither.
    """
    assert reference.as_of is not None
    *qualifier, column = (part.lower() for part in reference.as_of.time)
    others = [r for r in references if r is not reference]
    # without a match, the qualifier is a subquery or a common table expression, over any of the tables
    left = [r for r in others if qualifier and (r.suffix.alias or r.name[-1]).lower() == qualifier[-1]] or others
    entries: list[CatalogTable] = []
    texts = [query]
    for other in left:
        entry = resolve_table(tables, other.name)
        view = find_view(tables, other.name) if entry is None else None
        if entry is not None:
            entries.append(entry)
        elif view is not None:
            text = QueryText(view.text)
            texts.append(text)
            for inner in find_table_references(text):
                inner_entry = resolve_table(tables, inner.name)
                entries += [inner_entry] if inner_entry is not None else []
    computed = [c for entry in entries for c in entry.table.computed_columns if c.name.lower() == column]
    is_proctime = any(_PROCTIME_CALL.fullmatch(c.declared.strip()) for c in computed)
    if is_proctime or any(_defines(text, column) for text in texts):
        return TimeAttribute.PROCESSING_TIME
    if any(e.table.watermark is not None and e.table.watermark.column.lower() == column for e in entries):
        return TimeAttribute.EVENT_TIME
    name, time = ".".join(reference.name), ".".join(reference.as_of.time)
    raise UnsupportedSqlError(
        f"Table '{name}': Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time "
        f"attribute field, and '{time}' is not one. For the rows as of now, declare a column such as `proctime AS "
        "PROCTIME()` in the left table. For the rows as of an event time, use the column of its WATERMARK.",
        table=name,
    )


def _defines(query: QueryText, column: str) -> bool:
    """Return whether a text has ``PROCTIME() AS column``; in the text of a view, Spark's function replaces it."""
    for i, token in enumerate(query.tokens):
        if token.upper in (PROCTIME, "CURRENT_TIMESTAMP") and (query.word(i + 1), query.word(i + 2)) == ("(", ")"):
            first = i + 4 if query.word(i + 3) == "AS" else i + 3
            alias = query.tokens[first : first + 1]
            if alias and alias[0].is_identifier and alias[0].name.lower() == column:
                return True
    return False
