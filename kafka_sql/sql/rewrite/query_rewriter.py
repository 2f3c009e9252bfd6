"""Rewrite a query so that Spark can read the Kafka tables in it.

A table name is replaced by the table's stream, the table with the options of a hint, or its name in Spark's catalog.
All other text stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pyspark.sql import DataFrame

from kafka_sql.catalog.catalog_table import CatalogTable, quoted_name, select_statement
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.session_catalog import SESSION_CATALOG
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import ARGUMENT, ENCLOSED, FROM, QUERY, TableReference, find_relations
from kafka_sql.sql.recognize.table_suffix import AsOf, TableSuffix
from kafka_sql.sql.rewrite.changelog_functions import MAY_HAVE_CHANGELOG_FUNCTIONS, rewrite_changelog_functions
from kafka_sql.sql.rewrite.edits import Edit, Template, apply_edits, fill_template
from kafka_sql.sql.rewrite.flink_syntax import MAY_HAVE_FLINK_SYNTAX, rewrite_flink_syntax
from kafka_sql.sql.rewrite.hints import Hint, check_hint_positions, parse_hint
from kafka_sql.sql.rewrite.qualifiers import shorten_qualifiers
from kafka_sql.sql.rewrite.read_kafka import (
    Call,
    check_statement,
    create_table,
    find_calls,
    has_format,
    may_have_calls,
    select_call,
)
from kafka_sql.sql.rewrite.row_numbers import rewrite_row_numbers
from kafka_sql.sql.rewrite.stream_query import stream_query
from kafka_sql.sql.rewrite.temporal_joins import (
    TimeAttribute,
    check_join,
    find_time_attribute,
    remove_lookup_hints,
    replace_proctime,
)
from kafka_sql.sql.rewrite.unnest import MAY_HAVE_UNNEST, rewrite_unnest
from kafka_sql.sql.rewrite.versions import stream_versions, stream_view_versions, table_versions, view_versions
from kafka_sql.sql.rewrite.views import find_view, view_columns
from kafka_sql.sql.rewrite.windows.subqueries import may_have_windows, rewrite_windows

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
        rewrites_plan: whether the plan of the query is rewritten before it starts (``jobs.changelog``), so that it may
            have event-time temporal joins of streams, row numbers over streams, and sessions that are merged.
        watermarks: whether streams have the watermarks of their tables.
    """

    streaming: bool
    stream_reader: StreamReader | None = None
    rewrites_plan: bool = False
    watermarks: bool = True


@dataclass
class QueryRewrite:
    """A query rewritten for Spark.

    ``SELECT a FROM STREAM orders``, for example, becomes
    ``SELECT a FROM (SELECT * FROM (...) WATERMARK `ts` DELAY OF INTERVAL '5' SECOND) AS `orders```.
    """

    text: str  # the query text
    # the Kafka tables in the query, including those in views
    kafka_tables: list[CatalogTable] = field(default_factory=list)
    # the tables that are read as streams, with the options of their hints
    streamed_tables: list[CatalogTable] = field(default_factory=list)
    static_tables: list[CatalogTable] = field(default_factory=list)  # the tables that are not read as streams
    uses_stream_keyword: bool = False  # whether the query applies STREAM to one of them
    has_lookup_join: bool = False  # whether the query joins a table FOR SYSTEM_TIME AS OF a processing time


def has_functions(text: str) -> bool:
    """Return whether a statement may have Flink's windows or calls of ``read_kafka``."""
    return may_have_windows(text) or may_have_calls(text)


def has_flink_syntax(text: str) -> bool:
    """Return whether a query may have syntax or functions that only Flink has."""
    patterns = MAY_HAVE_FLINK_SYNTAX, MAY_HAVE_CHANGELOG_FUNCTIONS, MAY_HAVE_UNNEST
    return any(pattern.search(text) for pattern in patterns)


def needs_rewrite(tables: Tables, query: str, streaming: bool) -> bool:
    """Return whether a query needs a rewrite in the runtime mode. Other queries are passed to Spark as written.

    A batch query needs one for Flink's windows, ``read_kafka``, STREAM, a hint, WITH (...), Flink's catalog name, a
    time attribute or syntax that only Flink's parser accepts; and for a table name with a database if Spark finds the
    tables as temporary views.
    """
    if has_functions(query):
        return True
    if not tables:
        return False
    has_syntax = has_flink_syntax(query) or _MAY_NEED_REWRITE.search(query)
    return streaming or bool(has_syntax) or (tables.are_private and "." in query)


def rewrite_query(tables: Tables, query: QueryText, options: ReadOptions) -> QueryRewrite:
    """Rewrite a query so that Spark reads the session's Kafka tables.

    Raises:
        UnsupportedSqlError: a hint in the wrong place, or Spark's ``WITH (...)`` after a Kafka table.
    """
    return _QueryRewriter(tables, query, options).rewrite()


def rewrite_view_query(tables: Tables, query: QueryText) -> QueryRewrite:
    """Rewrite a query that is to be stored as the text of a view.

    Raises:
        UnsupportedSqlError: see ``rewrite_query``.
    """
    return _QueryRewriter(tables, query, ReadOptions(False), is_view=True).rewrite()


def rewrite_statement(tables: Tables, text: str, streaming: bool) -> str:
    """Return a statement with Spark's form of its windows, and with tables for its calls of ``read_kafka``.

    Raises:
        UnsupportedSqlError: the statement creates a permanent view or a function, which would outlive the tables.
        KafkaSqlError: Flink would reject a window, Spark cannot run it, or the arguments of a call are invalid.
    """
    query = QueryText(text)
    windows = rewrite_windows(query, streaming)
    edits = list(windows.edits)
    calls = find_calls(query, find_relations(query, windows.sources), streaming)
    if calls:
        check_statement(query)
    for call in calls:
        start, end = call.reference.start, call.reference.end
        table = f"{'STREAM ' if call.reference.is_stream else ''}{quote(create_table(tables, call))}"
        edits.append(Edit(start, end, select_call(call, table)))
    return apply_edits(text, edits)


@dataclass
class _QueryRewriter:
    """Collect the edits of one query."""

    tables: Tables
    query: QueryText
    options: ReadOptions
    database: str | None = None  # the database of unqualified names if the query is the text of a view
    is_view: bool = False  # whether the result is to be stored as the text of a view
    result: QueryRewrite = field(default_factory=lambda: QueryRewrite(""))
    edits: list[Edit] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)
    aliases: dict[tuple[str, ...], str] = field(default_factory=dict)  # the names that qualifiers of columns get
    references: list[TableReference] = field(default_factory=list)

    def rewrite(self) -> QueryRewrite:
        """Return the query after all edits."""
        query, result, streaming = self.query, self.result, self.options.streaming
        windows = rewrite_windows(query, streaming, self.options.rewrites_plan)
        has_changes = self.is_view or self.options.rewrites_plan
        changelogs = rewrite_changelog_functions(query, has_changes, streaming or self.is_view)
        relations = find_relations(query, [*windows.sources, *changelogs.sources])
        calls = {call.reference.start: call for call in find_calls(query, relations, streaming)}
        for relation in relations:
            if relation.start in calls:
                table = create_table(self.tables, calls[relation.start])
                self.references.append(replace(relation, name=(table,), parenthesis=0))
            elif not relation.parenthesis:
                self.references.append(relation)
        for reference in self.references:
            call = calls.get(reference.start)
            self.edits += self._edit_reference(reference) if call is None else self._edit_call(call, reference)
        if result.kafka_tables:
            check_hint_positions(query, self.hints)
        proctime = replace_proctime(query)
        reads_kafka = bool(result.kafka_tables) or result.has_lookup_join
        self.edits += proctime if reads_kafka else []
        self.edits += remove_lookup_hints(query) if result.has_lookup_join else []
        self.edits += shorten_qualifiers(query, self.aliases) if self.edits and self.aliases else []
        self.edits += [*windows.edits, *changelogs.edits]
        self.edits += rewrite_flink_syntax(query, streaming or result.uses_stream_keyword)

        def analyze(part: Template) -> DataFrame:
            return self.tables.spark_sql(fill_template(query.text, self.edits, part))

        for edit in rewrite_unnest(query, analyze):
            self.edits.append(edit)
        if self.options.rewrites_plan:
            row_numbers = []
        else:
            row_numbers = list(rewrite_row_numbers(query, windows.blocks, streaming, analyze))
        if row_numbers:
            self.edits += [] if reads_kafka else proctime
            self.tables.add_functions()
        result.text = apply_edits(query.text, [*self.edits, *row_numbers])
        return result

    def _edit_call(self, call: Call, reference: TableReference) -> list[Edit]:
        """Return the edits that replace a call of ``read_kafka`` with its table, or with a query of the table."""
        if has_format(call):
            edits = self._edit_reference(reference)
            return edits or [Edit(reference.start, reference.end, quote(reference.name[0]))]
        inner = replace(reference, form=FROM, suffix=TableSuffix(0), alias_position=reference.end, as_of=None)
        edits = self._edit_reference(inner, may_have_hint=False)
        table = str(edits[0].replacement) if edits else quote(reference.name[0])
        return [Edit(reference.start, reference.end, select_call(call, table))]

    def _edit_reference(self, reference: TableReference, may_have_hint: bool = True) -> list[Edit]:
        """Return the edits that replace a table name, its hint and its time."""
        name = reference.name
        if self.database and len(name) == 1:
            name = (self.database, *name)
        entry = resolve_table(self.tables, name)
        hint = parse_hint(self.query.text, reference.end) if entry is not None and may_have_hint else None
        if hint is not None:
            self.hints.append(hint)
        edits: list[Edit] = []
        if reference.as_of is not None:
            versions = self._join_versions(reference, hint)
            if versions is not None:
                return [versions]
            edits.append(Edit(reference.as_of.start, reference.as_of.end, ""))
        reads_stream = (self.options.streaming and reference.as_of is None) or reference.is_stream
        if entry is None:
            return [*edits, *(self._edit_view(name, reference) if reads_stream else [])]
        self.result.kafka_tables.append(entry)
        self.result.uses_stream_keyword |= reference.is_stream
        if reference.suffix.has_options:
            raise UnsupportedSqlError(
                f"Table '{entry.definition.name}': WITH (...) after the table name is not supported. Write "
                f"{reference.name[-1]} /*+ OPTIONS('key' = 'value') */.",
                table=entry.definition.name,
            )
        if not reference.suffix.has_alias:
            qualified = [entry.name, (SESSION_CATALOG, *entry.name)] if entry.name[0] else []
            qualifiers = [tuple(map(str.lower, name)), *qualified]
            self.aliases |= {qualifier: reference.name[-1] for qualifier in qualifiers if len(qualifier) > 1}
        if self.is_view and hint is not None and hint.options:
            derived = self.tables.with_options_for_view(entry, hint.options)
            text = f"SELECT * FROM {quoted_name(derived.view_name)}"
            return [*edits, *_replace_name(reference, hint.end, text)]
        edits += self._edit_table(entry, reference, hint, reads_stream, name)
        read = self.tables.with_options(entry, hint.options) if hint is not None and hint.options else entry
        (self.result.streamed_tables if reads_stream else self.result.static_tables).append(read)
        return edits

    def _edit_table(
        self,
        entry: CatalogTable,
        reference: TableReference,
        hint: Hint | None,
        reads_stream: bool,
        name: tuple[str, ...],
    ) -> list[Edit]:
        """Return the edits that replace the name of a Kafka table and its hint."""
        end = hint.end if hint is not None else reference.end
        options = hint.options if hint is not None else {}
        if options or reads_stream:
            self.tables.check_settings(entry)
        if options:
            entry = self.tables.with_options(entry, options)
        elif not reads_stream and (len(name) == 1 or not entry.is_temporary_view):
            is_spark_name = hint is None and name == reference.name and name[0].lower() != "default_catalog"
            return [] if is_spark_name else [Edit(reference.start, end, quoted_name(entry.view_name))]
        if not reads_stream:
            return _replace_name(reference, end, select_statement(entry))
        if self.options.stream_reader is not None:
            entry = self.options.stream_reader(entry)
        suffix, needs_query = reference.suffix, bool(entry.table.computed_columns or entry.table.watermark)
        if not needs_query and reference.form == FROM and not suffix.has_sample:  # the data source replaces the name
            keeps_qualifiers = suffix.has_alias or suffix.has_watermark or not entry.is_view
            alias = "" if keeps_qualifiers else f" AS {quote(reference.name[-1])}"
            return [Edit(reference.start, end, f"STREAM {entry.sql_name}{alias}")]
        with_watermark = self.options.watermarks and not suffix.has_watermark
        return _replace_name(reference, end, stream_query(self.tables, entry, with_watermark))

    def _edit_view(self, name: tuple[str, ...], reference: TableReference) -> list[Edit]:
        """Return the edits that replace a view over Kafka tables with its text, read as a stream; keep others."""
        view = find_view(self.tables, name)
        rewritten = self._rewrite_text(view.text, view.database, self.options) if view is not None else None
        if rewritten is not None and rewritten.kafka_tables:
            self._add_tables(rewritten)
            self.result.has_lookup_join |= rewritten.has_lookup_join
            columns = ", ".join(map(quote, view_columns(self.tables, name)))
            text = f"SELECT * FROM ({rewritten.text}) AS {quote(name[-1])}({columns})"
            return _replace_name(reference, reference.end, text)
        if self.database and name != reference.name:
            return [Edit(reference.start, reference.end, quoted_name((name[0], name[1])))]
        return []

    def _rewrite_text(self, text: str, database: str | None, options: ReadOptions) -> QueryRewrite:
        """Rewrite the text of a view, which is read as a stream."""
        options = replace(options, streaming=True)
        return _QueryRewriter(self.tables, QueryText(text), options, database).rewrite()

    def _add_tables(self, rewritten: QueryRewrite) -> None:
        self.result.kafka_tables += rewritten.kafka_tables
        self.result.streamed_tables += rewritten.streamed_tables
        self.result.static_tables += rewritten.static_tables

    def _join_versions(self, reference: TableReference, hint: Hint | None) -> Edit | None:
        """Return the edit that replaces a table with its versions at an event time; None for a lookup join."""
        as_of = reference.as_of
        assert as_of is not None
        check_join(reference, as_of)
        attribute = find_time_attribute(self.tables, self.query, self.references, reference)
        if attribute is TimeAttribute.PROCESSING_TIME:
            self.result.has_lookup_join = True
            return None
        streaming = self.options.streaming or any(other.is_stream for other in self.references)
        if streaming and not self.options.rewrites_plan:
            name = ".".join(reference.name)
            raise UnsupportedSqlError(
                f"Table '{name}': a continuous query with FOR SYSTEM_TIME AS OF an event time must be an INSERT INTO "
                "in a classic session, outside of real-time mode. Write INSERT INTO, or run the query as a batch: SET "
                "'execution.runtime-mode' = 'batch' and remove the word STREAM.",
                table=name,
            )
        entry = resolve_table(self.tables, reference.name)
        if entry is not None:
            self.result.kafka_tables.append(entry)
            read = self.tables.with_options(entry, hint.options) if hint is not None and hint.options else entry
            if streaming:
                self.result.streamed_tables.append(read)
                text = stream_versions(self.tables, read, as_of.time)
            else:
                text = table_versions(self.tables, read, ".".join(map(quote, as_of.time)))
        else:
            text = self._view_versions(reference, as_of, streaming)
        alias = "" if reference.suffix.has_alias else f" AS {quote(reference.name[-1])}"
        return Edit(reference.start, as_of.end, f"{'' if streaming else 'LATERAL '}({text}){alias}")

    def _view_versions(self, reference: TableReference, as_of: AsOf, streaming: bool) -> str:
        name = ".".join(reference.name)
        view = find_view(self.tables, reference.name)
        if view is None:
            raise UnsupportedSqlError(
                f"Table '{name}' has no versions. FOR SYSTEM_TIME AS OF an event time needs an 'upsert-kafka' table, a "
                "table with a changelog format, or a view of the latest row per key.",
                table=name,
            )
        columns = view_columns(self.tables, reference.name)
        if not streaming:
            rewriter = _QueryRewriter(self.tables, QueryText(view.text), ReadOptions(False), view.database)
            return view_versions(name, rewriter.rewrite().text, columns, ".".join(map(quote, as_of.time)))

        def read_streams(text: str) -> str:
            rewritten = self._rewrite_text(text, view.database, ReadOptions(True))
            self._add_tables(rewritten)
            return rewritten.text

        return stream_view_versions(name, view.text, columns, as_of.time, read_streams)


def _replace_name(reference: TableReference, end: int, text: str) -> list[Edit]:
    """Return the edits that replace a name, whose hint ends at ``end``, with a query."""
    if reference.form == ENCLOSED:
        return [Edit(reference.start, end, text)]
    if reference.form == QUERY:
        return [Edit(reference.form_start, end, f"SELECT * FROM ({text})")]
    if reference.form == ARGUMENT or reference.suffix.has_alias:
        return [Edit(reference.start, end, f"({text})")]
    alias = f" AS {quote(reference.name[-1])}"
    if reference.alias_position <= end:
        return [Edit(reference.start, end, f"({text}){alias}")]
    return [
        Edit(reference.start, end, f"({text})"),
        Edit(reference.alias_position, reference.alias_position, alias),
    ]
