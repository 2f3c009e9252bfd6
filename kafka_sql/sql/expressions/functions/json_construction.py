"""Translate functions that write values as JSON: JSON_STRING, JSON_OBJECT and JSON_ARRAY.

Flink sorts the keys of all objects by their UTF-16 code units.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_sql.catalog.sql_literals import quote, string_constant
from kafka_sql.sql.expressions.binding import bind, new_variable, raise_error_sql
from kafka_sql.sql.expressions.functions.json import with_document
from kafka_sql.sql.expressions.functions.json_numbers import mark_numbers, unmark_document, write_number
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_count, check_argument_type
from kafka_sql.sql.expressions.timestamps import UTC, to_local
from kafka_sql.sql.expressions.typed import STRING, TypedExpression, UntranslatableError, describe_type, type_family
from kafka_sql.sql.grammar.types import FlinkType

_LINE_BREAK: Final = string_constant("\r\n")
_SPACE: Final = r"^[\x00-\x20]+"


class Member(NamedTuple):
    """A value of JSON_OBJECT, with its key, or of JSON_ARRAY. Its kind is RAW for JSON, JSON for a text, or VALUE."""

    key: TypedExpression | None
    kind: str
    value: TypedExpression


def _quoted(text: str) -> str:
    return f"to_json(CAST({text} AS VARIANT))"


def _key(name: str) -> str:
    """Return a string literal with a key in quotes and the colon."""
    text = json.dumps(name, ensure_ascii=False)
    return string_constant(re.sub(r"\\u00..", lambda m: "\\u" + m[0][2:].upper(), text) + ":")


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _to_json(x: str, type: FlinkType) -> str:
    """Return SQL for the JSON text of a value; NULL for NULL."""
    family = type_family(type)
    if family == "string":
        return _quoted(x)
    if family in ("integer", "boolean"):
        return f"CAST({x} AS STRING)"
    if family == "decimal":
        return write_number(f"CAST({x} AS STRING)") if type.decimal[1] > 6 else f"CAST({x} AS STRING)"
    if family == "approximate":
        return bind(
            f"CAST(CAST({x} AS DOUBLE) AS STRING)",
            lambda t: f"if({t} RLIKE '[a-z]', concat('\"', {t}, '\"'), {write_number(t)})",
        )
    if family == "binary":
        return f"concat('\"', replace(base64({x}), {_LINE_BREAK}, ''), '\"')"
    if family in ("timestamp", "timestamp_ltz"):
        return _timestamp_to_json(x, family)
    if family == "array":
        return _array_to_json(x, type.elements[0])
    if family == "map":
        return _map_to_json(x, type)
    if family == "row":
        return _row_to_json(x, type)
    raise UntranslatableError(f"{describe_type(type)} cannot be converted into JSON, as in Flink; CAST it to STRING")


def _timestamp_to_json(x: str, family: str) -> str:
    if family == "timestamp":
        return f"concat('\"', replace(CAST({x} AS STRING), ' ', 'T'), '\"')"
    return f"concat('\"', replace(CAST({to_local(x, UTC)} AS STRING), ' ', 'T'), 'Z\"')"


def _array_to_json(x: str, element: FlinkType) -> str:
    name = new_variable(x + _to_json("", element))
    return f"concat('[', array_join(transform({x}, {name} -> coalesce({_to_json(name, element)}, 'null')), ','), ']')"


def _map_to_json(x: str, type: FlinkType) -> str:
    key, value = type.elements
    if type_family(key) != "string":
        raise UntranslatableError(f"the keys of a MAP in JSON must be strings, but they are {describe_type(key)}")

    def write(m: str) -> str:
        name = new_variable(m + _to_json("", value))
        keys = f"array_sort(transform(map_keys({m}), k -> named_struct('o', encode(k, 'UTF-16BE'), 'k', k)))"
        item = _to_json(f"element_at({m}, {name}.k)", value)
        pairs = f"transform({keys}, {name} -> concat({_quoted(f'{name}.k')}, ':', coalesce({item}, 'null')))"
        return f"concat('{{', array_join({pairs}, ','), '}}')"

    return bind(x, write)


def _row_to_json(x: str, type: FlinkType) -> str:
    def write(r: str) -> str:
        items = [
            f"{_key(f.name)}, coalesce({_to_json(f'{r}.{quote(f.name)}', f.type)}, 'null')"
            for f in sorted(type.fields, key=lambda f: _utf16(f.name))
        ]
        separated = ", ',', ".join(items)
        return f"if({r} IS NULL, NULL, concat('{{', {separated}, '}}'))"

    return bind(x, write)


def _json_string(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("JSON_STRING", arguments, 1)
    if arguments[0].type is None:
        raise UntranslatableError("JSON_STRING requires a value with a type, but got NULL; CAST it")
    return TypedExpression(_to_json(arguments[0].sql, arguments[0].type), STRING)


def _item(name: str, kind: str, value: TypedExpression) -> str:
    if value.type is None:
        raise UntranslatableError(f"{name} requires values with a type, but got NULL; CAST it")
    if kind == "RAW":
        return value.sql
    if kind == "VALUE":
        return _to_json(value.sql, value.type)
    check_argument_type("JSON", value, "string")
    error = raise_error_sql(f"Invalid JSON string in JSON(value) function in {name}", value.sql)
    trimmed = f"nullif(regexp_replace({value.sql}, {string_constant(_SPACE)}, ''), '')"  # JSON('') is NULL
    return with_document(trimmed, lambda s, _: unmark_document(f"to_json(try_parse_json({mark_numbers(s)}))"), error)


def _or_null(item: str, is_absent_on_null: bool) -> str:
    return item if is_absent_on_null else f"coalesce({item}, 'null')"


def translate_json_object(members: Sequence[Member], is_absent_on_null: bool) -> TypedExpression:
    """Translate ``JSON_OBJECT(KEY key VALUE value, ...)``."""
    pairs: dict[str, list[str]] = {}
    for key, kind, value in members:
        if key is None or not isinstance(key.literal, str):
            raise UntranslatableError("JSON_OBJECT requires keys that are string literals")
        item = _or_null(_item("JSON_OBJECT", kind, value), is_absent_on_null)
        pairs.setdefault(key.literal, []).insert(0, f"concat({_key(key.literal)}, {item})")
    # of several values with the same key, the last one that is not absent
    items = [
        f"coalesce({', '.join(pairs[name])})" if len(pairs[name]) > 1 else pairs[name][0]
        for name in sorted(pairs, key=_utf16)
    ]
    return _join("{", items, "}")


def translate_json_array(members: Sequence[Member], is_absent_on_null: bool) -> TypedExpression:
    """Translate ``JSON_ARRAY(value, ...)``."""
    items = [_or_null(_item("JSON_ARRAY", kind, value), is_absent_on_null) for _, kind, value in members]
    return _join("[", items, "]")


def _join(start: str, items: Sequence[str], end: str) -> TypedExpression:
    if not items:
        return TypedExpression(f"'{start}{end}'", STRING)
    return TypedExpression(f"concat('{start}', concat_ws(',', {', '.join(items)}), '{end}')", STRING)


FUNCTIONS: Final[dict[str, Function]] = {"JSON_STRING": _json_string}
