"""Find Flink's group windows, ``GROUP BY TUMBLE(ts, INTERVAL '1' DAY)``, and their functions, such as ``TUMBLE_START``.

``SELECT TUMBLE_START(ts, INTERVAL '1' DAY), count(*) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' DAY)`` means ``SELECT
window_start, count(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY window_start,
window_end``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.recognize.query_text import QueryBlock, QueryText, nest, own_tokens
from kafka_sql.sql.rewrite.windows.window_blocks import END, START, TIME, TimeReference
from kafka_sql.sql.rewrite.windows.window_call import WindowCall, make_call, name_durations

_FUNCTIONS: Final = ("TUMBLE", "HOP", "SESSION")
_FUNCTION: Final = re.compile(r"(TUMBLE|HOP|SESSION)_(START|END|ROWTIME|PROCTIME)")
_TIMES: Final = {"START": START, "END": END, "ROWTIME": TIME}


def find_group_windows(query: QueryText) -> tuple[list[WindowCall], dict[int, TimeReference]]:
    """Return the group windows, and the calls of their functions by the first token.

    Raises:
        StatementError: a function such as TUMBLE_START does not match the window of GROUP BY.
        UnsupportedSqlError: the query groups a join, or the time is not a column.
    """
    inner = nest(query.blocks)
    windows: list[WindowCall] = []
    functions: dict[int, TimeReference] = {}
    for block in query.blocks:
        own = own_tokens(block, inner[block])
        calls = [i for i in own if _FUNCTION.fullmatch(query.word(i)) and query.word(i + 1) == "("]
        keys = query.split(block.clause("GROUP"))
        window_keys = [key for key in keys if _is_group_window(query, key)]
        if len(window_keys) > 1:
            raise UnsupportedSqlError("GROUP BY has two windows. Group the rows by the first one in a subquery.")
        if window_keys:
            window = window_keys[0]
            windows.append(_make_call(query, block, window, [key for key in keys if key != window]))
            functions |= {index: _parse_function(query, index, window) for index in calls}
        elif calls and query.word(calls[0] + 2) != ")":
            name = query.word(calls[0])
            raise StatementError(f"{name} belongs to a group window. Add {name.partition('_')[0]}(...) to GROUP BY.")
    return windows, functions


def _is_group_window(query: QueryText, key: range) -> bool:
    if len(key) < 6 or query.word(key.start) not in _FUNCTIONS or query.word(key.start + 1) != "(":
        return False
    arguments = query.split(key[2:-1])
    is_call = query.closing(key.start + 1) == key.stop - 1
    return is_call and len(arguments) > 1 and query.word(arguments[1].start) == "INTERVAL"


def _parse_function(query: QueryText, index: int, window: range) -> TimeReference:
    """Return what a function such as TUMBLE_START refers to."""
    end = query.closing(index + 1)
    function, (name, part) = query.word(window.start), query.word(index).rsplit("_", 1)
    if name != function or query.words(range(index + 2, end)) != query.words(window[2:-1]):
        raise StatementError(
            f"{query.word(index)} does not match the window of GROUP BY. Write {function}_{part} with the arguments of "
            "the window."
        )
    if part == "PROCTIME":
        raise UnsupportedSqlError(f"{query.word(index)} is not supported. Write current_timestamp().")
    return TimeReference(_TIMES[part], range(index, end + 1))


def _make_call(query: QueryText, block: QueryBlock, window: range, keys: Sequence[range]) -> WindowCall:
    """Return the windows of the relation in FROM."""
    function, relation = query.word(window.start), block.clause("FROM")
    column, *durations = query.split(window[2:-1])
    if not query.is_name(column):
        raise UnsupportedSqlError(
            f"GROUP BY {function}: the time must be a column. Compute it in a subquery, or as a computed column."
        )
    if not relation or not query.is_single_relation(relation):
        raise UnsupportedSqlError(
            f"GROUP BY {function}: a group window over a join is not supported. Join in a subquery: FROM (SELECT ...) "
            f"GROUP BY {function}(...)."
        )
    source = range(relation.start, _relation_end(query, relation))
    call = WindowCall(
        function,
        source,
        source,
        query.tokens[column.stop - 1].name,
        0,
        0,
        # columns without their qualifiers
        partition_keys=tuple(key[-1:] if query.is_name(key) else key for key in keys) if function == "SESSION" else (),
        group_key=window,
    )
    return make_call(query, call, name_durations(query, window, durations))


def _relation_end(query: QueryText, relation: range) -> int:
    """Return the index after the name or subquery in a FROM clause, before its alias."""
    index = relation.start
    if query.word(index) == "STREAM" and index + 1 < relation.stop and query.word(index + 1) != "AS":
        is_keyword = query.tokens[index + 1].is_identifier or query.word(index + 1) == "("
        index = index + 1 if is_keyword else index
    if query.word(index) == "(":
        return query.closing(index) + 1
    while index + 2 < relation.stop and query.word(index + 1) == ".":
        index += 2
    if index + 1 < relation.stop and query.word(index + 1) == "(":  # a table function
        return query.closing(index + 1) + 1
    return index + 1
