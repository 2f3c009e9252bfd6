"""Build the query of the versions of a table that are valid at a time, for event-time temporal joins.

A version of a row is valid from its time to that of the next version with the same key. A version with the same time as
an earlier one replaces it, and a deleted row has no version until it is inserted again, as in Flink.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafka_sql.catalog.catalog_table import CatalogTable, select_statement
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.row_numbers import name_if_selected, parse_ranking, selected_column
from kafka_sql.sql.rewrite.stream_query import stream_query
from kafka_sql.table.changelog import DELETE as DELETE_KIND
from kafka_sql.table.changelog import KINDS, ROW_KIND, UPDATE_BEFORE
from kafka_sql.table.table import Column

_KIND, _ORDER, _TIME, _END, _RANK = "__row_kind", "__row_order", "__version_time", "__version_end", "__version_rank"
_STREAM_MARK: Final = "__versions_at "
_METADATA: Final = (
    Column(_KIND, "STRING", "STRING", metadata=ROW_KIND, virtual=True),
    Column(_ORDER, "BIGINT", "BIGINT", metadata="offset", virtual=True),
)


def table_versions(tables: Tables, entry: CatalogTable, time: str) -> str:
    """Return the query of a table's versions that are valid at a time.

    Raises:
        UnsupportedSqlError: the table has no primary key or no watermark.
    """
    table = entry.table
    _check_is_versioned(entry)
    assert table.watermark is not None
    tables.check_settings(entry)
    changes = tables.with_metadata(entry, *_METADATA)
    key = ", ".join(map(quote, table.primary_key))
    declared_time = quote(table.watermark.column)
    # a deletion without a time, such as a tombstone, has the time of the row that it deletes
    previous = (
        f"last_value({declared_time}, true) OVER (PARTITION BY {key} ORDER BY {_ORDER} ROWS BETWEEN UNBOUNDED "
        "PRECEDING AND 1 PRECEDING)"
    )
    times = (
        f"SELECT *, coalesce({declared_time}, {previous}) AS {_TIME} FROM ({select_statement(changes)}) "
        f"WHERE {_KIND} <> '{KINDS[UPDATE_BEFORE]}'"
    )
    last = f"row_number() OVER (PARTITION BY {key}, {_TIME} ORDER BY {_ORDER} DESC) AS {_RANK}"
    rows = f"SELECT * FROM (SELECT *, {last} FROM ({times}) WHERE {_TIME} IS NOT NULL) WHERE {_RANK} = 1"
    condition = f"{_KIND} <> '{KINDS[DELETE_KIND]}'"
    return _valid_versions([c.name for c in table.columns], table.primary_key, _TIME, rows, time, condition)


def _check_is_versioned(entry: CatalogTable) -> None:
    """Check that a table has versions."""
    table, name = entry.table, entry.definition.name
    if not table.primary_key or table.watermark is None:
        missing = "primary key" if not table.primary_key else "row time attribute"
        raise UnsupportedSqlError(
            "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but "
            f"no {missing} can be found in '{name}'. Declare WATERMARK FOR a column, and PRIMARY KEY (...) NOT "
            "ENFORCED if the table is an 'upsert-kafka' table or has a changelog format. For an insert-only topic, "
            "create a view with ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) AS n ... WHERE n = 1, and join "
            "that. For the current rows, join FOR SYSTEM_TIME AS OF a column that is PROCTIME().",
            table=name,
        )


def stream_versions(tables: Tables, entry: CatalogTable, time: Sequence[str]) -> str:
    """Return the query that reads a table as a stream and marks it for a join with its versions.

    ``changelog.temporal_join_marks`` finds the mark in the query's plan.

    Raises:
        UnsupportedSqlError: the table has no primary key or no watermark.
    """
    _check_is_versioned(entry)
    return _mark_stream(stream_query(tables, entry), time, (), "")


def _mark_stream(query: str, time: Sequence[str], key: Sequence[str], version_time: str) -> str:
    mark = _STREAM_MARK + json.dumps([list(time), list(key), version_time])
    return f"SELECT * FROM ({query}) AS {quote(mark)}"


@dataclass(frozen=True)
class StreamMark:
    """What ``changelog.temporal_join_marks`` needs to know about a join with the versions of a stream."""

    time: Sequence[str]  # the parts of the name of the left table's time
    key: Sequence[str] = ()  # the key of a view of the latest rows; empty for a table
    version_time: str = ""  # the column with the time of the view's rows; empty for a table


def read_mark(alias: str) -> StreamMark | None:
    """Return the mark that an alias is, or None."""
    return StreamMark(*json.loads(alias.removeprefix(_STREAM_MARK))) if alias.startswith(_STREAM_MARK) else None


def _valid_versions(
    columns: Sequence[str], key: Sequence[str], version_time: str, rows: str, time: str, condition: str = "true"
) -> str:
    """Return the query of the rows that are valid at a time.

    Args:
        rows: a query with at most one row per key and time.
        condition: which rows are versions; others only end the previous version.
    """
    # the columns are renamed inside, so that an unqualified time refers to the outer query
    inner = ", ".join(f"{quote(name)} AS __column_{i}" for i, name in enumerate(columns))
    outer = ", ".join(f"__column_{i} AS {quote(name)}" for i, name in enumerate(columns))
    end = f"lead({version_time}) OVER (PARTITION BY {', '.join(map(quote, key))} ORDER BY {version_time})"
    intervals = (
        f"SELECT {inner}, {version_time} AS __valid_from, {end} AS {_END}, {condition} AS __is_version FROM ({rows})"
    )
    return (
        f"SELECT {outer} FROM ({intervals}) AS __versions WHERE __is_version AND __valid_from <= {time} "
        f"AND ({_END} IS NULL OR {time} < {_END})"
    )


def view_versions(name: str, view: str, columns: Sequence[str], time: str) -> str:
    """Return the query of the versions of a view that are valid at a time.

    Args:
        view: its query: SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) AS n FROM
            ...) WHERE n = 1.

    Raises:
        UnsupportedSqlError: the view does not return the latest row of each key.
    """
    latest = _find_latest_rows(name, view, columns)
    return _valid_versions(columns, latest.key, quote(latest.time), _rename_rows(latest.all_rows, columns), time)


def stream_view_versions(
    name: str, view: str, columns: Sequence[str], time: Sequence[str], rewrite: Callable[[str], str]
) -> str:
    """Return the query that reads the rows of a view as a stream and marks them for a join with their versions.

    Args:
        rewrite: returns a query over the view's tables that reads them as streams.

    Raises:
        UnsupportedSqlError: see ``view_versions``.
    """
    latest = _find_latest_rows(name, view, columns)
    rows = _rename_rows(rewrite(latest.unranked_rows), columns)
    return _mark_stream(rows, time, latest.key, latest.time)


def _rename_rows(rows: str, columns: Sequence[str]) -> str:
    return f"SELECT * FROM ({rows}) AS __rows({', '.join(map(quote, columns))})"


def _find_latest_rows(name: str, view: str, columns: Sequence[str]) -> _LatestRows:
    """Return the parts of a view's query, with the names of its columns."""
    latest = _parse_latest_rows(QueryText(view))
    names = {column.lower(): column for column in columns}
    if latest is None or not {*latest.key, latest.time} <= names.keys():
        raise UnsupportedSqlError(
            f"View '{name}' is not a versioned table. Its query must be SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER "
            "(PARTITION BY key ORDER BY time DESC) AS n FROM ...) WHERE n = 1, without a further condition, join or "
            "UNION around the subquery. It must return the columns of the key and the time.",
            table=name,
        )
    return replace(latest, key=tuple(names[part] for part in latest.key), time=names[latest.time])


@dataclass(frozen=True)
class _LatestRows:
    """A query that returns the latest row of each key."""

    key: tuple[str, ...]  # the columns of the key, in lower case
    time: str  # the column by which a row is the latest one, in lower case
    all_rows: str  # the query without its condition, so that it returns the earlier rows, too
    unranked_rows: str  # the same without the row number


def _parse_latest_rows(query: QueryText) -> _LatestRows | None:
    """Return the parts of a query if it returns the latest row of each key.

    Whatever removes rows outside of the subquery, such as a join, would remove versions, so that earlier ones would
    stay valid for too long.
    """
    outer = next((block for block in query.blocks if block.end == len(query.tokens)), None)
    if outer is None:
        return None
    follows_common_table_expressions = query.word(0) == "WITH" and query.word(outer.start - 1) == ")"
    if outer.start > 0 and not follows_common_table_expressions:
        return None
    relation, where = outer.clause("FROM"), outer.clause("WHERE")
    inner = next((block for block in query.blocks if block.start == relation.start + 1), None)
    ranking = parse_ranking(query, inner) if inner is not None else None
    if inner is None or ranking is None or len(ranking.orders) != 1:
        return None
    is_whole_subquery = query.word(relation.start) == "(" and inner.end == query.closing(relation.start)
    has_column_names = any(query.tokens[i].text == "(" for i in range(inner.end, relation.stop))
    condition = "".join(query.tokens[i].name for i in where)
    is_latest = re.fullmatch(rf"(?:\w+\.)?{re.escape(ranking.name)}=1", condition, re.IGNORECASE)
    if not (is_whole_subquery and query.is_single_relation(relation)) or has_column_names:
        return None
    order = ranking.orders[0]
    if not is_latest or where.stop < len(query.tokens) or len(order) < 2 or query.word(order[-1]) != "DESC":
        return None
    selected = [selected_column(query, inner, expression) for expression in (*ranking.keys, order[:-1])]
    *key, time = (name_if_selected(query, outer, column) if column else "" for column in selected)
    item, end = query.span(ranking.item), query.tokens[where.start - 1].start
    unranked = f"{query.text[: item.start]}1 AS {quote(ranking.name)}{query.text[item.end : end]}"
    return _LatestRows(tuple(key), time, query.text[:end], unranked) if all((*key, time)) else None
