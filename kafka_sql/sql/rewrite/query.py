"""Rewrite a query so that Spark can read the Kafka tables in it.

A table name is replaced by the table's stream, the table with the options of a hint, or its name in Spark's catalog.
All other text stays as written.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kafka_sql.catalog.catalog_table import quoted_name, select_statement
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import CatalogTable, Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.hints import Hint, check_hint_positions, parse_hint
from kafka_sql.sql.rewrite.qualifiers import shorten_qualifiers
from kafka_sql.sql.rewrite.row_numbers import rewrite_row_numbers
from kafka_sql.sql.rewrite.stream_query import stream_query
from kafka_sql.sql.rewrite.table_references import (
    ARGUMENT,
    ENCLOSED,
    FROM,
    QUERY,
    Edit,
    TableReference,
    apply_edits,
    find_table_references,
)
from kafka_sql.sql.rewrite.temporal_joins import (
    TimeAttribute,
    check_join,
    find_time_attribute,
    remove_lookup_hints,
    replace_proctime,
)
from kafka_sql.sql.rewrite.versions import stream_versions, stream_view_versions, table_versions, view_versions
from kafka_sql.sql.rewrite.views import ViewDefinition, find_view, view_columns

# Queries in batch mode without any of these are passed to Spark unread.
_MAY_NEED_REWRITE = re.compile(r"STREAM|/\*\+|\bWITH\s*\(|DEFAULT_CATALOG|\bSYSTEM_TIME\b|\bPROCTIME\b", re.IGNORECASE)

StreamReader: TypeAlias = Callable[[CatalogTable], CatalogTable]


@dataclass(frozen=True)
class ReadOptions:
    """How a query reads its tables.

    Attributes:
        streaming: read all tables as streams (streaming runtime mode), including those in views; otherwise only the
            ones with the STREAM keyword.
        stream_reader: returns what reads a table as a stream; None for its data source.
        joins_versions: whether event-time temporal joins of streams are possible (``changelog.temporal_joins``).
        watermarks: whether streams have the watermarks of their tables.
    """

    streaming: bool
    stream_reader: StreamReader | None = None
    joins_versions: bool = False
    watermarks: bool = True


@dataclass
class QueryRewrite:
    """A query rewritten for Spark.

    ``SELECT a FROM STREAM orders``, for example, becomes
    ``SELECT a FROM (SELECT * FROM (...) WATERMARK `ts` DELAY OF INTERVAL '5' SECOND) AS `orders```.

    Attributes:
        text: the query text.
        kafka_tables: the Kafka tables in the query, including those in views.
        streamed_tables: the tables that are read as streams, with the options of their hints.
        static_tables: the tables that are not read as streams.
        uses_stream_keyword: whether the query applies STREAM to one of them.
        has_lookup_join: whether the query joins a table FOR SYSTEM_TIME AS OF a processing time.
    """

    text: str
    kafka_tables: list[CatalogTable] = field(default_factory=list)
    streamed_tables: list[CatalogTable] = field(default_factory=list)
    static_tables: list[CatalogTable] = field(default_factory=list)
    uses_stream_keyword: bool = False
    has_lookup_join: bool = False


def may_need_rewrite(tables: Tables, query: str) -> bool:
    """Return whether a batch query may need a rewrite: for STREAM, a hint, WITH (...) or Flink's catalog name.

    The same for a table name with a database if Spark finds the tables as temporary views.
    """
    return _MAY_NEED_REWRITE.search(query) is not None or (tables.are_private and "." in query)


def needs_rewrite(tables: Tables, query: str, streaming: bool) -> bool:
    """Return whether a query needs a rewrite in the runtime mode. Other queries are passed to Spark as written."""
    return bool(tables) and (streaming or may_need_rewrite(tables, query))


def rewrite_query(tables: Tables, query: QueryText, options: ReadOptions) -> QueryRewrite:
    """Rewrite a query so that Spark reads the session's Kafka tables.

    Raises:
        UnsupportedSqlError: a hint in the wrong place, or Spark's ``WITH (...)`` after a Kafka table.
    """
    return _rewrite(tables, query.text, options.streaming, None, False, options)


def rewrite_view_query(tables: Tables, query: QueryText) -> QueryRewrite:
    """Rewrite a query that is to be stored as the text of a view.

    Raises:
        UnsupportedSqlError: see ``rewrite_query``.
    """
    return _rewrite(tables, query.text, False, None, True, ReadOptions(False))


def _rewrite(
    tables: Tables, query: str, streaming: bool, database: str | None, is_view: bool, options: ReadOptions
) -> QueryRewrite:
    """Rewrite a query.

    Args:
        database: the database of unqualified names if the query is the text of a view.
        is_view: the result is to be stored as the text of a view.
    """
    stream_reader, joins_versions, watermarks = options.stream_reader, options.joins_versions, options.watermarks

    def rewrite(query: str, streaming: bool, database: str | None) -> QueryRewrite:
        return _rewrite(tables, query, streaming, database, False, options)

    query = rewrite_row_numbers(query, streaming, lambda q: tables.spark_sql(rewrite(q, streaming, database).text))
    result = QueryRewrite(query)
    edits: list[Edit] = []
    hints: list[Hint] = []
    aliases: dict[tuple[str, ...], str] = {}
    references = find_table_references(query)
    for reference in references:
        name = (database, *reference.name) if database and len(reference.name) == 1 else reference.name
        entry = resolve_table(tables, name)
        reads_stream = (streaming and reference.as_of is None) or reference.is_stream
        hint = parse_hint(query, reference.end) if entry is not None else None
        if hint is not None:
            hints.append(hint)
        if reference.as_of is not None:
            temporal_edits = _edit_temporal_join(
                tables, query, references, reference, hint, result, streaming, joins_versions
            )
            edits += temporal_edits or [(reference.as_of.start, reference.as_of.end, "")]
            if temporal_edits:
                continue
        if entry is None:
            edits += _rewrite_view(tables, name, reference, result, database, rewrite) if reads_stream else []
            continue
        result.kafka_tables.append(entry)
        result.uses_stream_keyword |= reference.is_stream
        _check_no_options(entry, reference)
        if is_view and hint is not None and hint.options:
            derived = tables.with_options_for_view(entry, hint.options)
            edits += _replace_name(reference, hint.end, f"SELECT * FROM {quoted_name(derived.view_name)}")
            aliases |= {} if reference.has_alias else dict.fromkeys(_qualifiers_of(entry, name), reference.name[-1])
            continue
        edits += _edit_reference(tables, entry, reference, hint, reads_stream, name, stream_reader, watermarks)
        read_tables = result.streamed_tables if reads_stream else result.static_tables
        read_tables.append(tables.with_options(entry, hint.options) if hint is not None and hint.options else entry)
        if not reference.has_alias:
            alias = reference.name[-1]
            aliases |= dict.fromkeys(_qualifiers_of(entry, name), alias)
    if result.kafka_tables:
        check_hint_positions(query, hints)
    result.text = _apply_all_edits(query, edits, aliases, result)
    return result


def _apply_all_edits(
    query: str, edits: list[Edit], aliases: Mapping[tuple[str, ...], str], result: QueryRewrite
) -> str:
    """Return the query with the edits of its tables, and with those that follow from them.

    Args:
        aliases: the names that qualifiers of columns get.
    """
    if result.kafka_tables or result.has_lookup_join:
        edits += [e for e in replace_proctime(query) if not any(start <= e[0] < end for start, end, _ in edits)]
    if result.has_lookup_join:
        edits += remove_lookup_hints(query)
    if edits and aliases:
        spans = [(start, end) for start, end, _ in edits]
        edits += shorten_qualifiers(query, aliases, spans)
    return apply_edits(query, edits)


def _edit_temporal_join(
    tables: Tables,
    query: str,
    references: list[TableReference],
    reference: TableReference,
    hint: Hint | None,
    result: QueryRewrite,
    streaming: bool,
    joins_versions: bool,
) -> list[Edit]:
    """Return the edits that replace a table with its versions at an event time; no edits for a lookup join.

    Raises:
        UnsupportedSqlError: Flink does not support the join, the table has no versions, or the query cannot join the
            versions of a stream.
    """
    as_of, name = reference.as_of, ".".join(reference.name)
    assert as_of is not None
    check_join(reference, as_of)
    if find_time_attribute(tables, query, references, reference) is TimeAttribute.PROCESSING_TIME:
        result.has_lookup_join = True
        return []
    streaming = streaming or any(r.is_stream for r in references)
    if streaming and not joins_versions:
        raise _no_stream_error(reference)
    time = ".".join(map(quote, as_of.time))
    entry = resolve_table(tables, reference.name)
    view = find_view(tables, reference.name) if entry is None else None
    if entry is not None:
        result.kafka_tables.append(entry)
        read = tables.with_options(entry, hint.options) if hint is not None and hint.options else entry
        if streaming:
            result.streamed_tables.append(read)
        text = stream_versions(tables, read, as_of.time) if streaming else table_versions(tables, read, time)
    elif view is not None:
        columns = view_columns(tables, reference.name)
        if streaming:
            text = stream_view_versions(
                name, view.text, columns, as_of.time, functools.partial(_read_streams, tables, view, result)
            )
        else:
            rows = _rewrite(tables, view.text, False, view.database, False, ReadOptions(False)).text
            text = view_versions(name, rows, columns, time)
    else:
        raise UnsupportedSqlError(
            f"Table '{name}' has no versions. FOR SYSTEM_TIME AS OF an event time needs an 'upsert-kafka' table, a "
            "table with a changelog format, or a view of the latest row per key.",
            table=name,
        )
    alias = "" if reference.has_alias else f" AS {quote(reference.name[-1])}"
    return [(reference.start, as_of.end, f"{'' if streaming else 'LATERAL '}({text}){alias}")]


def _read_streams(tables: Tables, view: ViewDefinition, result: QueryRewrite, query: str) -> str:
    """Return a query over a view's tables that reads them as streams."""
    rewritten = _rewrite(tables, query, True, view.database, False, ReadOptions(True))
    result.kafka_tables += rewritten.kafka_tables
    result.streamed_tables += rewritten.streamed_tables
    result.static_tables += rewritten.static_tables
    return rewritten.text


def _no_stream_error(reference: TableReference) -> UnsupportedSqlError:
    name = ".".join(reference.name)
    return UnsupportedSqlError(
        f"Table '{name}': a continuous query with FOR SYSTEM_TIME AS OF an event time must be an INSERT INTO in a "
        "classic session, outside of real-time mode. Write INSERT INTO, or run the query as a batch: SET "
        "'execution.runtime-mode' = 'batch' and remove the word STREAM.",
        table=name,
    )


def _check_no_options(entry: CatalogTable, reference: TableReference) -> None:
    """Check that Spark's ``WITH (...)`` does not follow the name of a Kafka table.

    Raises:
        UnsupportedSqlError: it does.
    """
    if reference.has_options:
        raise UnsupportedSqlError(
            f"Table '{entry.definition.name}': WITH (...) after the table name is not supported. Write "
            f"{reference.name[-1]} /*+ OPTIONS('key' = 'value') */.",
            table=entry.definition.name,
        )


def _edit_reference(
    tables: Tables,
    entry: CatalogTable,
    reference: TableReference,
    hint: Hint | None,
    streaming: bool,
    name: tuple[str, ...],
    stream_reader: StreamReader | None,
    watermarks: bool,
) -> list[Edit]:
    """Return the edits that replace a table name and its hint."""
    end = hint.end if hint is not None else reference.end
    options = hint.options if hint is not None else {}
    if options or streaming:
        tables.check_settings(entry)
    if options:
        entry = tables.with_options(entry, options)
    elif not streaming and (len(name) == 1 or not entry.is_temporary_view):
        is_spark_name = hint is None and name == reference.name and name[0].lower() != "default_catalog"
        return [] if is_spark_name else [(reference.start, end, quoted_name(entry.view_name))]
    if streaming and stream_reader is not None:
        entry = stream_reader(entry)
    if streaming and _can_use_data_source(entry, reference):
        return [(reference.start, end, f"STREAM {entry.sql_name}{_alias_clause(entry, reference)}")]
    with_watermark = watermarks and not reference.has_watermark
    text = stream_query(tables, entry, with_watermark) if streaming else select_statement(entry)
    return _replace_name(reference, end, text)


def _replace_name(reference: TableReference, end: int, text: str) -> list[Edit]:
    """Return the edits that replace a name, whose hint ends at ``end``, with a query."""
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


def _can_use_data_source(entry: CatalogTable, reference: TableReference) -> bool:
    """Return whether the data source can replace the name directly, without a subquery."""
    needs_query = bool(entry.table.computed_columns) or entry.table.watermark is not None
    return not needs_query and reference.form == FROM and not reference.has_sample


def _alias_clause(entry: CatalogTable, reference: TableReference) -> str:
    """Return an alias clause that keeps column qualifiers valid, if the data source has a different name."""
    if reference.has_alias or reference.has_watermark or not entry.is_view:
        return ""
    return f" AS {quote(reference.name[-1])}"


def _qualifiers_of(entry: CatalogTable, name: tuple[str, ...]) -> list[tuple[str, ...]]:
    as_typed = tuple(part.lower() for part in name)
    qualified = [entry.name, ("spark_catalog", *entry.name)] if entry.name[0] else []
    return [n for n in (as_typed, *qualified) if len(n) > 1]


def _rewrite_view(
    tables: Tables,
    name: tuple[str, ...],
    reference: TableReference,
    result: QueryRewrite,
    database: str | None,
    rewrite: Callable[[str, bool, str | None], QueryRewrite],
) -> list[Edit]:
    """Return the edits that replace a view over Kafka tables with its text, read as a stream; keep other relations."""
    view = find_view(tables, name)
    rewritten = rewrite(view.text, True, view.database) if view is not None else None
    if rewritten is not None and rewritten.kafka_tables:
        result.kafka_tables += rewritten.kafka_tables
        result.streamed_tables += rewritten.streamed_tables
        result.static_tables += rewritten.static_tables
        result.has_lookup_join |= rewritten.has_lookup_join
        columns = ", ".join(map(quote, view_columns(tables, name)))
        text = f"SELECT * FROM ({rewritten.text}) AS {quote(name[-1])}({columns})"
        return _replace_name(reference, reference.end, text)
    if database and name != reference.name:
        return [(reference.start, reference.end, quoted_name((name[0], name[1])))]
    return []
