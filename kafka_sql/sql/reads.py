"""Tables in the streaming form: where a query names one, the text of its stream takes the name's place."""

from __future__ import annotations

from kafka_sql.catalog.literals import quote
from kafka_sql.catalog.entry import select
from kafka_sql.catalog.tables import Entry, Tables
from kafka_sql.sql.references import Reference, references, replace


def says_stream(tables: Tables, query: str) -> bool:
    """Whether the query itself reads one of the session's tables ``FROM STREAM t``."""
    return any(r.streaming and tables.find(r.name) for r in references(query))


def as_stream(tables: Tables, query: str, all_tables: bool) -> str:
    """The query with the session's tables as streams; everything else stays as the user wrote it.

    Args:
        all_tables: also where the query does not say STREAM (the streaming runtime mode).
    """
    edits = []
    for reference in references(query):
        entry = tables.find(reference.name)
        if entry is not None and (all_tables or reference.streaming):
            edits.append((reference.start, reference.end, _stream(entry, reference)))
    return replace(query, edits)


def _stream(entry: Entry, reference: Reference) -> str:
    if not entry.behind_view and entry.table.watermark is None:
        return f"STREAM {entry.source}"
    alias = "" if reference.alias or reference.watermark else f" AS {quote(entry.name[1])}"
    return f"({stream(entry, watermark=not reference.watermark)}){alias}"


def stream(entry: Entry, watermark: bool = True) -> str:
    """The query text of a table as a stream, with its computed columns and, unless told otherwise, its watermark."""
    text = select(entry, stream=True)
    mark = entry.table.watermark
    if mark is None or not watermark:
        return text
    return f"SELECT * FROM ({text}) WATERMARK {quote(mark.column)} DELAY OF INTERVAL {mark.delay}"
