"""Read the paths of Flink's JSON functions, and evaluate those with wildcards on a VARIANT.

Flink evaluates paths with Jayway JsonPath. A path with a wildcard leads to the list of all matches. In strict mode,
what precedes the first wildcard must exist, except for an index beyond the end of an array. After a wildcard, elements
without the name or index are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import require_string_literal
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError

_STEP: Final = r"\.[A-Za-z_][\w-]*|\[\d+\]|\['[^'\\\]]+'\]|\.\*|\[\*\]"
_PATH: Final = re.compile(rf"(?:(lax|strict) +)?\$((?:{_STEP})*)")
_WILDCARDS: Final = (".*", "[*]")
_EMPTY: Final = "CAST(array() AS ARRAY<VARIANT>)"


class JsonPath(NamedTuple):
    """A path: its steps, such as ``.name``, ``[0]`` or ``[*]``, and whether it is lax."""

    steps: list[str]
    is_lax: bool

    @property
    def sql(self) -> str:
        """Return the path in single quotes for Spark, if it has no wildcard."""
        return _to_sql(self.steps)

    @property
    def has_wildcard(self) -> bool:
        """Return whether the path leads to a list."""
        return any(step in _WILDCARDS for step in self.steps)


def read_path(name: str, argument: TypedExpression) -> JsonPath:
    """Read the path of a function.

    Raises:
        UntranslatableError: no literal, or a path with other steps than names, indexes and wildcards.
    """
    match = _PATH.fullmatch(require_string_literal(name, argument, "path"))
    if match is None:
        raise UntranslatableError(
            f"{name} requires a path of names, indexes and wildcards, such as '$.items[0].price' or 'lax $.ids[*]', "
            f"but got {argument.sql}"
        )
    return JsonPath(re.findall(_STEP, match[2]), match[1] == "lax")


def find_all(variant: str, path: JsonPath, missing: str, is_order_relevant: bool = True) -> str:
    """Return SQL for the matches of a path with a wildcard, as an ARRAY<VARIANT>.

    Args:
        missing: the SQL if what precedes the first wildcard does not exist.
        is_order_relevant: whether an object with several members is an error, whose order a VARIANT does not have.
    """
    first = next(i for i, step in enumerate(path.steps) if step in _WILDCARDS)
    checks = ""
    for i, step in enumerate(path.steps[:first]):
        is_absent = f"variant_get({variant}, {_to_sql(path.steps[: i + 1])}, 'variant') IS NULL"
        if step[1].isdigit():
            parent = f"variant_get({variant}, {_to_sql(path.steps[:i])}, 'variant')"
            checks += f"WHEN {is_absent} AND startswith(schema_of_variant({parent}), 'ARRAY') THEN {_EMPTY} "
        checks += f"WHEN {is_absent} THEN {missing} "
    start = f"variant_get({variant}, {_to_sql(path.steps[:first])}, 'variant')" if first else variant
    matches = _follow(_children(start, is_order_relevant), path.steps[first + 1 :], is_order_relevant)
    return f"CASE {checks}ELSE {matches} END" if checks else matches


def write_list(items: str, write: Callable[[str], str]) -> str:
    """Return SQL for the JSON of an ARRAY<VARIANT>, whose elements ``write`` writes."""
    item = f"if(is_variant_null(item), 'null', {write('item')})"
    return f"concat('[', array_join(transform({items}, item -> {item}), ','), ']')"


def _follow(items: str, steps: list[str], is_order_relevant: bool) -> str:
    """Return SQL for what the remaining steps find in each of the items."""
    definite: list[str] = []
    for index, step in enumerate(steps):
        if step in _WILDCARDS:
            children = f"flatten(transform({_get(items, definite)}, item -> {_children('item', is_order_relevant)}))"
            return _follow(children, steps[index + 1 :], is_order_relevant)
        definite.append(step)
    return _get(items, definite)


def _get(items: str, steps: list[str]) -> str:
    if not steps:
        return items
    found = f"transform({items}, item -> variant_get(item, {_to_sql(steps)}, 'variant'))"
    return f"filter({found}, item -> item IS NOT NULL)"


def _children(variant: str, is_order_relevant: bool) -> str:
    """Return SQL for the elements of an array or the values of an object; none for other values."""
    error = raise_error_sql("a JSON path with a wildcard for an object with several members, whose order Spark drops")

    def children(x: str) -> str:
        members = f"map_values(CAST({x} AS MAP<STRING, VARIANT>))"
        if is_order_relevant:
            members = bind(members, lambda m: f"if(size({m}) > 1, {error}, {m})")
        return (
            f"CASE WHEN startswith(schema_of_variant({x}), 'ARRAY') THEN CAST({x} AS ARRAY<VARIANT>) "
            f"WHEN startswith(schema_of_variant({x}), 'OBJECT') THEN {members} ELSE {_EMPTY} END"
        )

    return bind(variant, children)


def _to_sql(steps: list[str]) -> str:
    return string_constant("$" + "".join(steps))
