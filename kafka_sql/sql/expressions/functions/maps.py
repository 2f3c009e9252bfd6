"""Translate functions of maps. Of several entries with the same key, Flink uses the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, bind2, new_variable, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    check_argument_count,
    check_argument_type,
    checked,
    require_string_literal,
)
from kafka_sql.sql.expressions.typed import STRING, TypedExpression, UntranslatableError, common_type, describe_type
from kafka_sql.sql.grammar.types import Field, FlinkType, to_spark_type


def _types(name: str, value: TypedExpression, family: str) -> tuple[FlinkType, ...]:
    """Return the element types of an array or map."""
    check_argument_type(name, value, family)
    if value.type is None:
        raise UntranslatableError(f"{name} requires {family.upper()}, but got NULL")
    return value.type.elements


def _map_of_entries(entries: str) -> str:
    """Return SQL for a map of an array of structs of ``key`` and ``value``."""

    def build(e: str) -> str:
        keys = f"transform({e}, x -> x.key)"
        last = f"filter({e}, (x, i) -> NOT exists(slice({e}, i + 2, size({e})), y -> y.key = x.key))"
        return f"if(size(array_distinct({keys})) = size({e}), map_from_entries({e}), map_from_entries({last}))"

    return bind(entries, build)


def _map_part(name: str, index: int) -> Function:
    """Return the translation of MAP_KEYS or MAP_VALUES. The order of a map's entries is undefined in both engines."""

    @checked(name, "")
    def function(value: TypedExpression) -> TypedExpression:
        types = _types(name, value, "map")
        return TypedExpression(f"{name.lower()}({value.sql})", FlinkType("ARRAY", elements=(types[index],)))

    return function


@checked("MAP_ENTRIES", "")
def _map_entries(entries: TypedExpression) -> TypedExpression:
    key, value = _types("MAP_ENTRIES", entries, "map")
    row = FlinkType("ROW", fields=(Field("key", key), Field("value", value)))
    return TypedExpression(f"map_entries({entries.sql})", FlinkType("ARRAY", elements=(row,)))


def _map_from_arrays(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("MAP_FROM_ARRAYS", arguments, 2)
    types = [_types("MAP_FROM_ARRAYS", array, "array")[0] for array in arguments]

    def build(keys: str, values: str) -> str:
        error = raise_error_sql("MAP_FROM_ARRAYS: the arrays of keys and values have different lengths")
        null_key = raise_error_sql("MAP_FROM_ARRAYS with a NULL key, which Spark does not support")
        n = new_variable(keys + values)
        entries = f"transform({keys}, (x, {n}) -> named_struct('key', x, 'value', get({values}, {n})))"
        return (
            f"CASE WHEN {keys} IS NULL OR {values} IS NULL THEN NULL WHEN size({keys}) <> size({values}) THEN {error} "
            f"WHEN exists({keys}, x -> x IS NULL) THEN {null_key} ELSE {_map_of_entries(entries)} END"
        )

    sql = bind2(arguments[0].sql, arguments[1].sql, build)
    return TypedExpression(sql, FlinkType("MAP", elements=tuple(types)))


def _map_union(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("MAP_UNION", arguments, 1, 99)
    elements = []
    for types in zip(*(_types("MAP_UNION", value, "map") for value in arguments), strict=True):
        common = common_type([replace(type, nullable=True) for type in types])
        if common is None or len({to_spark_type(replace(t, nullable=True), "") for t in (*types, common)}) > 1:
            described = " and ".join(sorted({describe_type(type) for type in types}))
            raise UntranslatableError(f"MAP_UNION of {described} is not supported; CAST the elements to one type")
        elements.append(common)
    type = FlinkType("MAP", elements=tuple(elements))
    if len(arguments) == 1:
        return TypedExpression(arguments[0].sql, type)
    entries = ", ".join(f"map_entries({value.sql})" for value in arguments)
    sql = bind(f"concat({entries})", lambda e: f"if({e} IS NULL, NULL, {_map_of_entries(e)})")
    return TypedExpression(sql, type)


def _str_to_map(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("STR_TO_MAP", arguments, 1, 3)
    if len(arguments) == 2:
        raise UntranslatableError("STR_TO_MAP requires 1 or 3 arguments, but got 2")
    check_argument_type("STR_TO_MAP", arguments[0], "string")
    pair_delimiter, key_delimiter = ",", "="
    if len(arguments) == 3:
        pair_delimiter, key_delimiter = (
            require_string_literal("STR_TO_MAP", value, "delimiter") for value in arguments[1:]
        )

    def build(p: str) -> str:
        # Java's split omits empty strings at the end
        length = f"coalesce(array_max(transform({p}, (x, i) -> if(x = '', 0, i + 1))), 0)"
        halves = f"transform(slice({p}, 1, {length}), x -> split(x, {string_constant(key_delimiter)}, 2))"
        entries = f"transform({halves}, x -> named_struct('key', get(x, 0), 'value', get(x, 1)))"
        return f"if({p} IS NULL, NULL, {_map_of_entries(entries)})"

    sql = bind(f"split({arguments[0].sql}, {string_constant(pair_delimiter)}, -1)", build)
    return TypedExpression(sql, FlinkType("MAP", elements=(STRING, STRING)))


FUNCTIONS: Final[dict[str, Function]] = {
    "MAP_KEYS": _map_part("MAP_KEYS", 0),
    "MAP_VALUES": _map_part("MAP_VALUES", 1),
    "MAP_ENTRIES": _map_entries,
    "MAP_FROM_ARRAYS": _map_from_arrays,
    "MAP_UNION": _map_union,
    "STR_TO_MAP": _str_to_map,
}
