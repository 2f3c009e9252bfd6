"""Rewrite the windows of a statement to subqueries in Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.rewrite.query_blocks import QueryBlock, find_query_blocks, split_list
from kafka_sql.sql.rewrite.table_references import Edit, apply_edits
from kafka_sql.sql.rewrite.window_time import END, START, TIME, WindowTimes, add_window_time, window_references
from kafka_sql.sql.windows.group_windows import rewrite_group_windows
from kafka_sql.sql.windows.spark_form import SESSION_COLUMN, session_rows, spark_subquery
from kafka_sql.sql.windows.window_call import LocatedCall, WindowCall, find_table_functions

_MAY_HAVE_WINDOWS: Final = re.compile(
    r"\b(?:TUMBLE|HOP|CUMULATE|SESSION)(?:_(?:START|END|ROWTIME|PROCTIME))?\s*\(", re.IGNORECASE
)
_SESSION_TIMES: Final = {
    START: "CAST({session}.start AS TIMESTAMP_NTZ)",
    END: "CAST({session}.end AS TIMESTAMP_NTZ)",
    TIME: "({session}.end - INTERVAL '0.001' SECOND)",
}


def rewrite_windows(sql: str, is_streaming: Callable[[], bool]) -> str:
    """Return a statement with Spark's form of its windows; other text stays as written.

    Args:
        is_streaming: returns whether tables are read as streams, also without the keyword STREAM.

    Raises:
        SqlSyntaxError, StatementError, UnsupportedSqlError: Flink would reject a window, or Spark cannot run it.
    """
    if not _MAY_HAVE_WINDOWS.search(sql):
        return sql
    text = _rewrite_table_functions(rewrite_group_windows(sql), is_streaming())
    tokens = list(lexer.tokenize_spark(text))
    return apply_edits(text, add_window_time(tokens, find_query_blocks(tokens)))


def _rewrite_table_functions(sql: str, streaming: bool) -> str:
    tokens = list(lexer.tokenize_spark(sql))
    calls = find_table_functions(sql, tokens)
    edits: list[Edit] = []
    sessions: list[LocatedCall] = []
    for located in calls:
        call = replace(located.call, source=_rewrite_table_functions(located.call.source, streaming))
        is_streamed = call.function == "SESSION" and _is_stream(call, streaming)
        sessions += [located] * is_streamed
        text = session_rows(call) if is_streamed else spark_subquery(call)
        edits.append((tokens[located.tokens.start].start, tokens[located.tokens.stop - 1].end, text))
    blocks = [b for b in find_query_blocks(tokens) if not any(b.start in located.tokens for located in calls)]
    for located in sessions:
        block = max((b for b in blocks if located.tokens.start in range(b.start, b.end)), key=lambda b: b.start)
        edits += _aggregate_sessions(sql, tokens, block, located.call, WindowTimes(tokens, blocks).own_tokens(block))
    return apply_edits(sql, edits)


def _is_stream(call: WindowCall, streaming: bool) -> bool:
    return streaming or any(token.upper == "STREAM" for token in lexer.tokenize_spark(call.source))


def _aggregate_sessions(
    sql: str, tokens: Sequence[Token], block: QueryBlock, call: WindowCall, own: Sequence[int]
) -> Iterator[Edit]:
    """Yield the edits that make Spark aggregate the sessions of a stream.

    Spark merges rows into sessions as part of an aggregate only, with the other grouping columns as key.

    Raises:
        UnsupportedSqlError: the query does not aggregate them, or does so by columns other than those of PARTITION BY.
    """
    group = block.clause("GROUP")
    elements = split_list(tokens, group)
    names = {r[0]: r for element in elements for r in window_references(tokens, element) if r[2] == element.stop - 1}
    times = {(first, last) for _, first, last in names.values()}
    others = [e for e in elements if (e.start, e.stop - 1) not in times]
    keys = {tokens[e.stop - 1].name.lower() for e in others}
    partition = {next(iter(_last_names(key)), "") for key in call.partition_keys}
    if START not in names or END not in names or keys != partition:
        expected = ", ".join([*call.partition_keys, "window_start", "window_end"])
        raise UnsupportedSqlError(
            "SESSION in a stream: Spark computes sessions only for an aggregate by the columns of PARTITION BY. "
            f"Write GROUP BY {expected}; or write GROUP BY session_window({call.time_column}, ...) yourself."
        )
    texts = [sql[tokens[e.start].start : tokens[e.stop - 1].end] for e in others]
    _, first, last = names[START]
    session = "".join(tokens[index].text for index in range(first, last)) + SESSION_COLUMN
    yield tokens[group.start].start, tokens[group.stop - 1].end, ", ".join([session, *texts])
    items = {(item.start, item.stop - 1) for item in split_list(tokens, block.clause("SELECT"))}
    outside = [i for i in own if i not in group and i not in block.clause("FROM")]
    for name, start, end in window_references(tokens, outside):
        qualifier = "".join(tokens[index].text for index in range(start, end))
        text = _SESSION_TIMES[name].format(session=qualifier + SESSION_COLUMN)
        previous = tokens[start - 1].upper if start else ""
        if previous == "AS":  # an alias of that name
            continue
        alias = f" AS {name.lower()}" if (start, end) in items else ""
        yield tokens[start].start, tokens[end].end, text + alias


def _last_names(key: str) -> Iterator[str]:
    """Yield the names in a key, last first."""
    names = [token.name.lower() for token in lexer.tokenize_spark(key) if token.type in (lexer.WORD, lexer.QUOTED)]
    yield from reversed(names)
