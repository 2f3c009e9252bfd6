"""Rewrite Flink's group windows, ``GROUP BY TUMBLE(ts, INTERVAL '1' DAY)``, to window table-valued functions.

``SELECT TUMBLE_START(ts, INTERVAL '1' DAY), count(*) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' DAY)`` becomes ``SELECT
window_start, count(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY)) AS `t` GROUP BY window_start,
window_end``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.rewrite.hints import parse_hint
from kafka_sql.sql.rewrite.query_blocks import (
    QueryBlock,
    closing_parenthesis,
    find_query_blocks,
    is_single_relation,
    split_list,
)
from kafka_sql.sql.rewrite.table_references import Edit, apply_edits

_GROUP_WINDOWS: Final = ("TUMBLE", "HOP", "SESSION")
_AUXILIARY: Final = re.compile(r"(TUMBLE|HOP|SESSION)_(START|END|ROWTIME|PROCTIME)")
_COLUMNS: Final = {"START": "window_start", "END": "window_end", "ROWTIME": "window_time"}


def rewrite_group_windows(sql: str) -> str:
    """Return a statement with table functions for its group windows; other text stays as written.

    Raises:
        StatementError: a function such as TUMBLE_START does not match the window of GROUP BY.
        UnsupportedSqlError: the query groups a join, or the time is not a column.
    """
    tokens = list(lexer.tokenize_spark(sql))
    blocks = find_query_blocks(tokens)
    edits = [edit for block in blocks for edit in _rewrite_block(sql, tokens, block, blocks)]
    return apply_edits(sql, edits)


def _rewrite_block(
    sql: str, tokens: Sequence[Token], block: QueryBlock, blocks: Sequence[QueryBlock]
) -> Iterator[Edit]:
    keys = split_list(tokens, block.clause("GROUP"))
    windows = [key for key in keys if _is_group_window(tokens, key)]
    inner = [b for b in blocks if block.start < b.start < block.end]
    own = [i for i in range(block.start, block.end) if not any(b.start <= i < b.end for b in inner)]
    auxiliary = [i for i in own if _AUXILIARY.fullmatch(tokens[i].upper) and tokens[i + 1].text == "("]
    if not windows:
        if auxiliary and tokens[auxiliary[0] + 2].text != ")":
            name = tokens[auxiliary[0]].upper
            raise StatementError(f"{name} belongs to a group window. Add {name.partition('_')[0]}(...) to GROUP BY.")
        return
    if len(windows) > 1:
        raise UnsupportedSqlError("GROUP BY has two windows. Group the rows by the first one in a subquery.")
    window = windows[0]
    function = tokens[window.start].upper
    arguments = split_list(tokens, range(window.start + 2, window.stop - 1))
    yield from _rewrite_relation(sql, tokens, block, function, arguments, [key for key in keys if key != window])
    yield tokens[window.start].start, tokens[window.stop - 1].end, "window_start, window_end"
    for index in auxiliary:
        end = closing_parenthesis(tokens, index + 1)
        name, part = tokens[index].upper.rsplit("_", 1)
        if name != function or _texts(tokens, range(index + 2, end)) != _texts(
            tokens, range(window.start + 2, window.stop - 1)
        ):
            raise StatementError(
                f"{tokens[index].upper} does not match the window of GROUP BY. Write {function}_{part} with the "
                "arguments of the window."
            )
        if part == "PROCTIME":
            raise UnsupportedSqlError(f"{tokens[index].upper} is not supported. Write current_timestamp().")
        yield tokens[index].start, tokens[end].end, _COLUMNS[part]


def _is_group_window(tokens: Sequence[Token], key: range) -> bool:
    if len(key) < 6 or tokens[key.start].upper not in _GROUP_WINDOWS or tokens[key.start + 1].text != "(":
        return False
    arguments = split_list(tokens, range(key.start + 2, key.stop - 1))
    is_call = closing_parenthesis(tokens, key.start + 1) == key.stop - 1
    return is_call and len(arguments) > 1 and tokens[arguments[1].start].upper == "INTERVAL"


def _rewrite_relation(
    sql: str,
    tokens: Sequence[Token],
    block: QueryBlock,
    function: str,
    arguments: Sequence[range],
    keys: Sequence[range],
) -> Iterator[Edit]:
    """Yield the edits that put a table function around the relation of FROM."""
    relation = block.clause("FROM")
    column = tokens[arguments[0].stop - 1]
    is_column = all(tokens[i].type in (lexer.WORD, lexer.QUOTED) or tokens[i].text == "." for i in arguments[0])
    if not is_column:
        raise UnsupportedSqlError(
            f"GROUP BY {function}: the time must be a column. Compute it in a subquery, or as a computed column."
        )
    if not relation or not is_single_relation(tokens, relation):
        raise UnsupportedSqlError(
            f"GROUP BY {function}: a group window over a join is not supported. Join in a subquery: FROM (SELECT ...) "
            f"GROUP BY {function}(...)."
        )
    end = _relation_end(tokens, relation)
    position = tokens[end - 1].end
    hint = parse_hint(sql, position)
    position = hint.end if hint is not None else position
    partition = ""
    if function == "SESSION" and keys:
        partition = f" PARTITION BY ({', '.join(_unqualified(sql, tokens, key) for key in keys)})"
    durations = ", ".join(sql[tokens[a.start].start : tokens[a.stop - 1].end] for a in arguments[1:])
    name = tokens[end - 1]
    alias = f" AS {quote(name.name)}" if end == relation.stop and name.text != ")" else ""
    start = tokens[relation.start].start
    yield start, start, f"TABLE({function}(TABLE "
    yield position, position, f"{partition}, DESCRIPTOR({quote(column.name)}), {durations})){alias}"


def _relation_end(tokens: Sequence[Token], relation: range) -> int:
    """Return the index after the name or subquery in a FROM clause, before its alias."""
    index = relation.start
    if tokens[index].upper == "STREAM" and index + 1 < relation.stop and tokens[index + 1].upper != "AS":
        is_keyword = tokens[index + 1].type in (lexer.WORD, lexer.QUOTED) or tokens[index + 1].text == "("
        index += is_keyword
    if tokens[index].text == "(":
        return closing_parenthesis(tokens, index) + 1
    while index + 2 < relation.stop and tokens[index + 1].text == ".":
        index += 2
    if index + 1 < relation.stop and tokens[index + 1].text == "(":  # a table function
        return closing_parenthesis(tokens, index + 1) + 1
    return index + 1


def _unqualified(sql: str, tokens: Sequence[Token], key: range) -> str:
    """Return the text of a key; a column without its qualifier."""
    is_column = all(tokens[i].type in (lexer.WORD, lexer.QUOTED) or tokens[i].text == "." for i in key)
    first = key.stop - 1 if is_column else key.start
    return sql[tokens[first].start : tokens[key.stop - 1].end]


def _texts(tokens: Sequence[Token], part: range) -> list[str]:
    return [tokens[index].upper or tokens[index].text for index in part]
