"""Rewrite the calls of Flink's TO_CHANGELOG and FROM_CHANGELOG to subqueries that are marked for their operators.

``FROM TO_CHANGELOG(input => TABLE orders)`` becomes ::

    FROM (SELECT * FROM (SELECT nullif('[...]', '[...]') AS op, * FROM orders WHERE ...) AS `__changelog [...]`)

``changelog.changelog_functions`` finds the mark, the alias, in the plan of the query, and removes the condition, which
fails elsewhere: there are changes in continuous queries only. The column and the condition have the text of the call,
so that a checkpoint knows the mapping by which the state was computed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.catalog.sql_literals import quote, string_literal
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import string_value
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.syntax_error import syntax_error
from kafka_sql.sql.rewrite.edits import Edit
from kafka_sql.table.changelog import DELETE, INSERT, KINDS, UPDATE_AFTER, UPDATE_BEFORE

TO_CHANGELOG: Final = "TO_CHANGELOG"
FROM_CHANGELOG: Final = "FROM_CHANGELOG"
MAY_HAVE_CHANGELOG_FUNCTIONS: Final = re.compile(rf"\b(?:{TO_CHANGELOG}|{FROM_CHANGELOG})\s*\(", re.IGNORECASE)
_MARK: Final = "__changelog "
_PARAMETERS: Final = ("INPUT", "OP", "OP_MAPPING")
_KINDS: Final = {  # Flink's names of row kinds
    "INSERT": KINDS[INSERT],
    "UPDATE_BEFORE": KINDS[UPDATE_BEFORE],
    "UPDATE_AFTER": KINDS[UPDATE_AFTER],
    "DELETE": KINDS[DELETE],
}


@dataclass(frozen=True)
class ChangelogFunction:
    """A call of one of the functions."""

    name: str
    op: str = "op"  # the column with the operation
    # the code of each row kind (TO_CHANGELOG), or the row kind of each code (FROM_CHANGELOG)
    mapping: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ChangelogFunctions:
    """The calls of a query."""

    edits: Sequence[Edit] = ()
    sources: Sequence[range] = ()  # the tables that they read, which become relations in FROM


def read_mark(alias: str) -> ChangelogFunction | None:
    """Return the call of which an alias is the mark; None for other aliases."""
    return ChangelogFunction(*json.loads(alias.removeprefix(_MARK))) if alias.startswith(_MARK) else None


def rewrite_changelog_functions(query: QueryText, has_changes: bool, streaming: bool) -> ChangelogFunctions:
    """Return the edits that write the calls as subqueries.

    Args:
        has_changes: whether the operators of ``changelog`` run the query.
        streaming: whether tables are read as streams, also without the keyword STREAM.

    Raises:
        SqlSyntaxError, StatementError: Flink would reject a call.
        UnsupportedSqlError: the query has no changes, or an argument is not supported.
    """
    if not MAY_HAVE_CHANGELOG_FUNCTIONS.search(query.text):
        return ChangelogFunctions()
    edits: list[Edit] = []
    sources: list[range] = []
    for index in range(len(query.tokens)):
        if query.word(index) in (TO_CHANGELOG, FROM_CHANGELOG) and query.word(index + 1) == "(":
            call = range(index, query.closing(index + 1) + 1)
            function, source = _parse_call(query, call)
            if not (has_changes and (streaming or any(query.word(i) == "STREAM" for i in source))):
                raise UnsupportedSqlError(_only_streams(function.name))
            sources.append(source)
            edits += _write_subquery(query, call, source, function)
    return ChangelogFunctions(edits, sources)


def _only_streams(name: str) -> str:
    return (
        f"{name} is only supported in a continuous INSERT INTO, in a classic session and outside of real-time mode: "
        "other queries read the current rows, which have no row kinds. SET 'execution.runtime-mode' = 'streaming' and "
        "write INSERT INTO; or declare a column METADATA FROM 'row-kind' in the table, with which any query reads its "
        "changes."
    )


def _parse_call(query: QueryText, call: range) -> tuple[ChangelogFunction, range]:
    """Return a call and the table that it reads."""
    name = query.word(call.start)
    values: dict[str, range] = {}
    for position, argument in enumerate(_split_arguments(query, range(call.start + 2, call.stop - 1))):
        is_named = len(argument) > 1 and query.word(argument.start + 1) == "=>"
        parameter = query.word(argument.start) if is_named else (*_PARAMETERS, "")[min(position, 3)]
        if parameter not in _PARAMETERS or parameter in values:
            raise _error(query, argument, f"{name} takes input => TABLE t, op => DESCRIPTOR(column), op_mapping => MAP")
        values[parameter] = argument[2:] if is_named else argument
    if "INPUT" not in values:
        raise _error(query, call, f"{name} needs a table: input => TABLE t")
    op = _parse_descriptor(query, values["OP"], name) if "OP" in values else "op"
    pairs = _parse_map(query, values["OP_MAPPING"]) if "OP_MAPPING" in values else {kind: kind for kind in _KINDS}
    mapping = _map_kinds(name, pairs) if name == TO_CHANGELOG else _map_codes(name, pairs)
    return ChangelogFunction(name, op, mapping), _parse_table(query, values["INPUT"], name)


def _split_arguments(query: QueryText, part: range) -> list[range]:
    """Return the arguments. Commas in brackets do not separate arguments."""
    arguments: list[range] = []
    depth = 0
    for element in query.split(part):
        if depth:
            element = range(arguments.pop().start, element.stop)
        arguments.append(element)
        words = query.words(element)
        depth = words.count("[") - words.count("]")
    return arguments


def _parse_table(query: QueryText, argument: range, name: str) -> range:
    if any(query.word(i) == "PARTITION" for i in argument):
        raise UnsupportedSqlError(
            f"{name}: PARTITION BY is not supported, because it has no effect on the rows of the result: the changes "
            "of a key keep their order. Remove it, and select its columns first if their order matters."
        )
    table = argument[1:] if argument and query.word(argument.start) == "TABLE" else argument[:0]
    if table and query.word(table.start) == "(" and query.closing(table.start) == table.stop - 1:
        table = table[1:-1]
    if not table or not all(query.tokens[i].is_identifier or query.word(i) == "." for i in table):
        raise _error(query, argument, f"the first argument of {name} is TABLE and the name of a table or a view")
    return table


def _parse_descriptor(query: QueryText, argument: range, name: str) -> str:
    if query.words(argument[:2]) != ["DESCRIPTOR", "("] or len(argument) != 4:
        raise _error(query, argument, f"'op' of {name} is DESCRIPTOR with one column")
    return query.tokens[argument[2]].name


def _parse_map(query: QueryText, argument: range) -> dict[str, str]:
    """Return the pairs of ``MAP['key', 'value', ...]``."""
    items = query.split(argument[2:-1]) if query.words(argument[:2]) == ["MAP", "["] else []
    if any(len(item) != 1 or query.tokens[item.start].type != lexer.STRING for item in items) or len(items) % 2:
        items = []
    if not items:
        raise _error(query, argument, "'op_mapping' is a constant map, such as MAP['INSERT', 'c', 'DELETE', 'd']")
    texts = [string_value(query.tokens[item.start].text) for item in items]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _map_kinds(name: str, pairs: Mapping[str, str]) -> dict[str, str]:
    """Return the code of each row kind. A key can have several row kinds, with commas."""
    kinds = [(kind.strip(), code) for key, code in pairs.items() for kind in key.split(",")]
    _check_kinds(name, [kind for kind, _ in kinds])
    return {_KINDS[kind]: code for kind, code in kinds}


def _map_codes(name: str, pairs: Mapping[str, str]) -> dict[str, str]:
    """Return the row kind of each code. A key can have several codes, with commas."""
    kinds = [kind.strip() for kind in pairs.values()]
    _check_kinds(name, kinds)
    if "UPDATE_AFTER" in kinds and "UPDATE_BEFORE" not in kinds:
        raise StatementError(
            f"{name}: 'op_mapping' must include UPDATE_BEFORE if it includes UPDATE_AFTER. For records that have the "
            "new row only, declare an 'upsert-kafka' table."
        )
    return {code.strip(): _KINDS[kind.strip()] for codes, kind in pairs.items() for code in codes.split(",")}


def _check_kinds(name: str, kinds: Sequence[str]) -> None:
    for i, kind in enumerate(kinds):
        if kind not in _KINDS:
            raise StatementError(f"{name}: '{kind}' in 'op_mapping' is not a row kind. Use {', '.join(_KINDS)}.")
        if kind in kinds[:i]:
            raise StatementError(
                f"{name}: 'op_mapping' has the row kind {kind} twice. Write the codes of a row kind in one key, with "
                "commas."
            )


def _write_subquery(query: QueryText, call: range, source: range, function: ChangelogFunction) -> Iterator[Edit]:
    """Yield the edits before and after the table of a call, which stays where it is."""
    if query.words(range(call.start - 2, call.start)) == ["TABLE", "("] and query.word(call.stop) == ")":
        call = range(call.start - 2, call.stop + 1)
    (start, end), inner = query.span(call), query.span(source)
    call_text = json.dumps([function.name, function.op, dict(function.mapping)])
    mark, text = quote(_MARK + call_text), string_literal(call_text)
    op = quote(function.op)
    outer, added = (
        ("*", f"nullif({text}, {text}) AS {op}, ") if function.name == TO_CHANGELOG else (f"* EXCEPT ({op})", "")
    )
    yield Edit(start, inner.start, f"(SELECT {outer} FROM (SELECT {added}* FROM ")
    condition = f"CAST(raise_error({string_literal(_only_streams(function.name))}) AS BOOLEAN) AND {text} IS NOT NULL"
    yield Edit(inner.end, end, f" WHERE {condition}) AS {mark})")


def _error(query: QueryText, part: range, message: str) -> Exception:
    return syntax_error(query.text, *query.span(part), message)
