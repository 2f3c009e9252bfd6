"""What a query reads: where it names a Kafka table, the text that Spark is to read takes the name's place.

That is the table's stream, the table with a hint's options, or its name as Spark knows it. All other text stays as it
was typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_sql.catalog.catalog_table import dotted, select
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import Entry, Tables
from kafka_sql.errors import ConflictingOptionsError, UnsupportedSqlError
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.rewrite.hints import Hint, check_hint_positions, parse_hint
from kafka_sql.sql.rewrite.qualifiers import Edit, shorten_qualifiers
from kafka_sql.sql.rewrite.table_references import (
    ARGUMENT,
    ENCLOSED,
    FROM,
    QUERY,
    TableReference,
    apply_edits,
    find_table_references,
)
from kafka_sql.sql.rewrite.views import rewrite_view_as_stream

# What makes a query's tables be looked at in the batch mode; all others reach Spark unread.
_LOOK = re.compile(r"STREAM|/\*\+|\bWITH\s*\(|DEFAULT_CATALOG", re.IGNORECASE)


@dataclass
class QueryRewrite:
    """A query as Spark is to run it.

    Attributes:
        text: the query.
        entries: the Kafka tables it names, those behind views of the user's included.
        streamed: those that are read as streams, with the options of their hints.
        streams: whether it says STREAM of one of them.
    """

    text: str
    kafka_tables: list[Entry] = field(default_factory=list)
    streamed_tables: list[Entry] = field(default_factory=list)
    uses_stream_keyword: bool = False


def may_use_tables(query: str) -> bool:
    """Whether a batch query may name a table otherwise than Spark knows it: by STREAM, a hint, or Flink's catalog."""
    return _LOOK.search(query) is not None


def rewrite_query(tables: Tables, query: str, streaming: bool, database: str | None = None) -> QueryRewrite:
    """A query with the session's tables as Spark is to read them.

    Args:
        streaming: all of them as streams (the streaming runtime mode), views of the user's over them included; else
            those alone of which the query says so.
        database: of names that have none, where the query is a view's text.

    Raises:
        ConflictingOptionsError: two different hints on one table.
        UnsupportedSqlError: a hint in another place, or Spark's ``WITH (...)`` behind a Kafka table.
    """
    found = QueryRewrite(query)
    edits: list[Edit] = []
    hints: list[Hint] = []
    hinted: dict[tuple[str, str], Mapping[str, str]] = {}
    aliases: dict[tuple[str, ...], str] = {}
    for reference in find_table_references(query):
        name = (database, *reference.name) if database and len(reference.name) == 1 else reference.name
        entry = resolve_table(tables, name)
        if entry is None:
            edits += _view(tables, name, reference, found, database) if streaming else []
            continue
        found.kafka_tables.append(entry)
        found.uses_stream_keyword |= reference.is_stream
        hint = parse_hint(query, reference.end)
        if hint is not None:
            hints.append(hint)
            _check_hint(entry, hint, hinted)
        if reference.has_options:
            raise UnsupportedSqlError(
                f"Table '{entry.definition.name}': WITH (...) behind the name would have no effect. Write "
                f"{reference.name[-1]} /*+ OPTIONS('key' = 'value') */."
            )
        edits += _edits(tables, entry, reference, hint, streaming or reference.is_stream, name)
        if streaming or reference.is_stream:
            found.streamed_tables.append(
                tables.hinted(entry, hint.options) if hint is not None and hint.options else entry
            )
        if not reference.has_alias:
            alias = reference.name[-1]
            aliases |= dict.fromkeys(_qualifiers(entry, name), alias)
    if found.kafka_tables:
        check_hint_positions(query, hints)
    if edits and aliases:
        spans = [(start, end) for start, end, _ in edits]
        edits += shorten_qualifiers(query, aliases, spans)
    found.text = apply_edits(query, edits)
    return found


def stream_query(entry: Entry, watermark: bool = True) -> str:
    """The query text of a table as a stream, with its computed columns and, unless told otherwise, its watermark."""
    text = select(entry, stream=True)
    mark = entry.table.watermark
    if mark is None or not watermark:
        return text
    return f"SELECT * FROM ({text}) WATERMARK {quote(mark.column)} DELAY OF INTERVAL {mark.delay}"


def _check_hint(entry: Entry, hint: Hint, hinted: dict[tuple[str, str], Mapping[str, str]]) -> None:
    other = hinted.setdefault(entry.name, hint.options)
    if dict(other) != dict(hint.options):
        raise ConflictingOptionsError(
            f"Table '{entry.definition.name}' has two different OPTIONS hints in one query. Give both the same, or "
            "declare a second table with CREATE TABLE ... LIKE."
        )


def _edits(
    tables: Tables, entry: Entry, reference: TableReference, hint: Hint | None, streaming: bool, name: tuple[str, ...]
) -> list[Edit]:
    """What takes the name's place, and its hint's."""
    end = hint.end if hint is not None else reference.end
    options = hint.options if hint is not None else {}
    if options:
        entry = tables.hinted(entry, options)
    elif not streaming:
        known = hint is None and name == reference.name and name[0].lower() != "default_catalog"
        return [] if known else [(reference.start, end, dotted(entry.name))]
    if streaming and _as_it_is(entry, reference):
        return [(reference.start, end, f"STREAM {entry.source}{_alias(entry, reference)}")]
    return _put(reference, end, stream_query(entry, not reference.has_watermark) if streaming else select(entry))


def _put(reference: TableReference, end: int, text: str) -> list[Edit]:
    """A query's text in the place of a name, whose hint ends at ``end``."""
    if reference.form == ENCLOSED:
        return [(reference.start, end, text)]
    if reference.form == ARGUMENT:
        return [(reference.start, end, f"({text})")]
    if reference.form == QUERY:
        return [(reference.form_start, end, f"SELECT * FROM ({text})")]
    if reference.has_alias:
        return [(reference.start, end, f"({text})")]
    alias = f" AS {quote(reference.name[-1])}"
    if reference.alias_position <= end:
        return [(reference.start, end, f"({text}){alias}")]
    return [(reference.start, end, f"({text})"), (reference.alias_position, reference.alias_position, alias)]


def _as_it_is(entry: Entry, reference: TableReference) -> bool:
    """Whether the data source itself can stand in the name's place."""
    plain = not entry.table.computed_columns and entry.table.watermark is None
    return plain and reference.form == FROM and not reference.has_sample


def _alias(entry: Entry, reference: TableReference) -> str:
    """The name that columns are qualified with, where the data source has another."""
    if reference.has_alias or reference.has_watermark or not entry.behind_view:
        return ""
    return f" AS {quote(reference.name[-1])}"


def _qualifiers(entry: Entry, name: tuple[str, ...]) -> list[tuple[str, ...]]:
    typed = tuple(part.lower() for part in name)
    full = [entry.name, ("spark_catalog", *entry.name)] if entry.name[0] else []
    return [n for n in (typed, *full) if len(n) > 1]


def _view(
    tables: Tables, name: tuple[str, ...], reference: TableReference, found: QueryRewrite, database: str | None
) -> list[Edit]:
    """A view of the user's over Kafka tables, as the stream of its text; any other relation stays."""
    view = rewrite_view_as_stream(tables, name, lambda text, its: rewrite_query(tables, text, True, its))
    if view is not None:
        found.kafka_tables += view.kafka_tables
        found.streamed_tables += view.streamed_tables
        return _put(reference, reference.end, view.text)
    return [(reference.start, reference.end, dotted((name[0], name[1])))] if database and name != reference.name else []
