"""Translate the JSON functions. Java evaluates them: see ``Json``, ``JsonText`` and ``JsonString``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    call_java,
    check_argument_count,
    check_argument_type,
    checked,
    java_function,
    require_string_literal,
)
from kafka_sql.sql.expressions.typed import (
    BOOLEAN,
    DOUBLE,
    INT,
    NUMERIC,
    STRING,
    TIMESTAMPS,
    TypedExpression,
    UntranslatableError,
    describe_type,
    type_family,
)
from kafka_sql.sql.grammar.types import FlinkType

_STRING_ARRAY: Final = FlinkType("ARRAY", elements=(STRING,))
_TYPES: Final = {"STRING": STRING, "BOOLEAN": BOOLEAN, "INT": INT, "INTEGER": INT, "DOUBLE": DOUBLE}
_SCALARS: Final = (*NUMERIC, *TIMESTAMPS, "string", "boolean", "binary")
_STEP: Final = r"\.[A-Za-z_][\w-]*|\[\d+\]|\['[^'\\\]]+'\]|\.\*|\[\*\]"
_PATH: Final = re.compile(rf"(?:(?:lax|strict) +)?\$(?:{_STEP})*")


class Behavior(NamedTuple):
    """What ON EMPTY or ON ERROR returns: a keyword, and the value after DEFAULT. Without the clause, it is empty."""

    word: str = ""
    default: TypedExpression | None = None

    @property
    def sql(self) -> str:
        """Return the keyword in SQL."""
        return string_constant(self.word)

    @property
    def default_sql(self) -> str:
        """Return the value after DEFAULT in SQL."""
        return self.default.sql if self.default is not None else "NULL"


def _path_sql(name: str, argument: TypedExpression) -> str:
    """Return a function's path in SQL.

    Raises:
        UntranslatableError: no literal, or a path with other steps than names, indexes and wildcards.
    """
    path = require_string_literal(name, argument, "path")
    if _PATH.fullmatch(path) is None:
        raise UntranslatableError(
            f"{name} requires a path of names, indexes and wildcards, such as '$.items[0].price' or 'lax $.ids[*]', "
            f"but got {argument.sql}"
        )
    return string_constant(path)


def translate_json_value(
    value: TypedExpression, path: TypedExpression, returning: str | None, on_empty: Behavior, on_error: Behavior
) -> TypedExpression:
    """Translate ``JSON_VALUE(value, path [RETURNING type] [... ON EMPTY] [... ON ERROR])``."""
    check_argument_type("JSON_VALUE", value, "string")
    if returning is not None and returning not in _TYPES:
        raise UntranslatableError(
            f"JSON_VALUE ... RETURNING {returning} is not supported; use STRING, INTEGER, DOUBLE, BOOLEAN or CAST"
        )
    result = _TYPES[returning or "STRING"]
    for default in (on_empty.default, on_error.default):
        if default is None:
            continue
        check_argument_type("DEFAULT of JSON_VALUE", default, "string")
        if default.type is not None and result != STRING:
            raise UntranslatableError("DEFAULT of JSON_VALUE with RETURNING is not supported; use COALESCE")
    arguments = (value.sql, _path_sql("JSON_VALUE", path))
    if result != STRING:
        return TypedExpression(call_java(f"JSON_VALUE_{result.name}", *arguments, on_empty.sql, on_error.sql), result)
    behaviors = (sql for behavior in (on_empty, on_error) for sql in (behavior.sql, behavior.default_sql))
    return TypedExpression(call_java("JSON_VALUE", *arguments, *behaviors), STRING)


def translate_json_query(
    value: TypedExpression,
    path: TypedExpression,
    returning: str | None,
    wrapper: str | None,
    on_empty: Behavior,
    on_error: Behavior,
) -> TypedExpression:
    """Translate ``JSON_QUERY(value, path [RETURNING type] [... WRAPPER] [... ON EMPTY] [... ON ERROR])``.

    Args:
        wrapper: CONDITIONAL, UNCONDITIONAL or None.
    """
    check_argument_type("JSON_QUERY", value, "string")
    if returning not in (None, "STRING", "ARRAY<STRING>"):
        raise UntranslatableError(f"JSON_QUERY ... RETURNING {returning} is not supported; use ARRAY<STRING>")
    wrapper_sql = string_constant(wrapper) if wrapper else "NULL"
    arguments = (value.sql, _path_sql("JSON_QUERY", path), wrapper_sql, on_empty.sql, on_error.sql)
    if returning != "ARRAY<STRING>":
        return TypedExpression(call_java("JSON_QUERY", *arguments), STRING)
    for behavior, clause in ((on_empty, "ON EMPTY"), (on_error, "ON ERROR")):
        if behavior.word == "EMPTY OBJECT":
            raise UntranslatableError(f"EMPTY OBJECT {clause} is not an ARRAY<STRING>; use EMPTY ARRAY")
    return TypedExpression(call_java("JSON_QUERY_ARRAY", *arguments), _STRING_ARRAY)


def translate_json_exists(value: TypedExpression, path: TypedExpression, on_error: Behavior) -> TypedExpression:
    """Translate ``JSON_EXISTS(value, path [... ON ERROR])``."""
    check_argument_type("JSON_EXISTS", value, "string")
    return TypedExpression(call_java("JSON_EXISTS", value.sql, _path_sql("JSON_EXISTS", path), on_error.sql), BOOLEAN)


@checked("IS JSON", "", "string")
def _is_json(kind: TypedExpression, value: TypedExpression) -> TypedExpression:
    return TypedExpression(call_java("IS_JSON", value.sql, string_constant(kind.sql)), BOOLEAN)


class Member(NamedTuple):
    """A value of JSON_OBJECT, with its key, or of JSON_ARRAY. Its kind is RAW for JSON, JSON for a text, or VALUE."""

    key: TypedExpression | None
    kind: str
    value: TypedExpression


def translate_json_object(members: Sequence[Member], is_absent_on_null: bool) -> TypedExpression:
    """Translate ``JSON_OBJECT(KEY key VALUE value, ...)``. Flink sorts the keys by their UTF-16 code units."""
    pairs: dict[str, list[str]] = {}
    for key, kind, value in members:
        if key is None or not isinstance(key.literal, str):
            raise UntranslatableError("JSON_OBJECT requires keys that are string literals")
        item = _item("JSON_OBJECT", kind, value, is_absent_on_null)
        pairs.setdefault(key.literal, []).insert(0, f"concat({_key(key.literal)}, {item})")
    # of several values with the same key, the last one that is not absent
    items = [
        f"coalesce({', '.join(pairs[name])})" if len(pairs[name]) > 1 else pairs[name][0]
        for name in sorted(pairs, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    ]
    return _join("{", items, "}")


def translate_json_array(members: Sequence[Member], is_absent_on_null: bool) -> TypedExpression:
    """Translate ``JSON_ARRAY(value, ...)``."""
    return _join("[", [_item("JSON_ARRAY", kind, value, is_absent_on_null) for _, kind, value in members], "]")


def _item(name: str, kind: str, value: TypedExpression, is_absent_on_null: bool) -> str:
    if value.type is None:
        raise UntranslatableError(f"{name} requires values with a type, but got NULL; CAST it")
    if kind == "JSON":
        check_argument_type("JSON", value, "string")
        item = call_java("JSON_DOCUMENT", value.sql, string_constant(name))
    else:
        item = value.sql if kind == "RAW" else _to_json(value.sql, value.type)
    return item if is_absent_on_null else f"coalesce({item}, 'null')"


def _key(name: str) -> str:
    """Return a string literal with a key in quotes and the colon."""
    text = json.dumps(name, ensure_ascii=False)
    return string_constant(re.sub(r"\\u00..", lambda m: "\\u" + m[0][2:].upper(), text) + ":")


def _join(start: str, items: Sequence[str], end: str) -> TypedExpression:
    if not items:
        return TypedExpression(f"'{start}{end}'", STRING)
    return TypedExpression(f"concat('{start}', concat_ws(',', {', '.join(items)}), '{end}')", STRING)


def _json_string(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("JSON_STRING", arguments, 1)
    if arguments[0].type is None:
        raise UntranslatableError("JSON_STRING requires a value with a type, but got NULL; CAST it")
    return TypedExpression(_to_json(arguments[0].sql, arguments[0].type), STRING)


def _to_json(sql: str, type: FlinkType) -> str:
    """Return SQL for the JSON text of a value; NULL for NULL."""
    _check_type(type)
    return call_java("JSON_STRING", f"struct({sql})")


def _check_type(type: FlinkType) -> None:
    family = type_family(type)
    if family == "map" and type_family(type.elements[0]) != "string":
        raise UntranslatableError(
            f"the keys of a MAP in JSON must be strings, but they are {describe_type(type.elements[0])}"
        )
    if family not in (*_SCALARS, "array", "map", "row"):
        raise UntranslatableError(
            f"{describe_type(type)} cannot be converted into JSON, as in Flink; CAST it to STRING"
        )
    for part in (*type.elements, *(field.type for field in type.fields)):
        _check_type(part)


FUNCTIONS: Final[dict[str, Function]] = {
    "IS JSON": _is_json,
    "JSON_QUOTE": java_function("JSON_QUOTE", STRING, "string"),
    "JSON_STRING": _json_string,
    "JSON_UNQUOTE": java_function("JSON_UNQUOTE", STRING, "string"),
}
