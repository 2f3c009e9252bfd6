"""Translate JSON_VALUE and JSON_EXISTS with paths of names and indexes.

Spark's VARIANT has the values of a document, except for the text of numbers with a fraction. These are quoted in the
document first, so that they are strings with the digits that the document has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_type, require_string_literal
from kafka_sql.sql.expressions.typed import BOOLEAN, INT, STRING, TypedExpression, UntranslatableError

_PATH: Final = re.compile(r"(?:(lax|strict) +)?(\$(?:\.[A-Za-z_][\w-]*|\[\d+\]|\['[^'\\\]]+'\])*)")
# what precedes a number, from the end of the number before: no quote, digit or sign outside of strings
_NUMBER: Final = (
    r"\G([^\"0-9-]*+(?:\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"[^\"0-9-]*+)*+)(-?[0-9]++(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+)"
)
_RENDERED_DIFFERENTLY: Final = r"[eE]|^-?0[.]000000|^-[0.]+$"  # 1e3 is 1E+3, 0.00000012 is 1.2E-7, -0.0 is 0.0
_TYPES: Final = {"": STRING, "STRING": STRING, "BOOLEAN": BOOLEAN, "INT": INT, "INTEGER": INT}


class _Path(NamedTuple):
    """A path in single quotes for Spark, and whether it is lax."""

    sql: str
    is_lax: bool


def _read_path(name: str, argument: TypedExpression) -> _Path:
    match = _PATH.fullmatch(require_string_literal(name, argument, "path"))
    if match is None:
        raise UntranslatableError(
            f"{name} requires a path of names and indexes, such as '$.items[0].price' or 'lax $.name', but got "
            f"{argument.sql}"
        )
    return _Path(string_literal(match[2]), match[1] == "lax")


def _with_document(text: str, body: Callable[[str, str], str], invalid: str) -> str:
    """Return ``body(text, variant)``; ``invalid`` for text that is not JSON, and NULL for NULL."""
    duplicates = raise_error_sql("JSON with duplicate keys, of which Flink uses the last one")

    def with_text(s: str) -> str:
        valid_text = (
            f"from_json(concat('{{\"v\":', {s}, '}}'), 'v STRING', map('allowSingleQuotes', 'false', "
            f"'allowNonNumericNumbers', 'false')).v IS NOT NULL"
        )
        return bind(
            f"try_parse_json({s})",
            lambda v: (
                f"CASE WHEN {s} IS NULL THEN NULL WHEN {v} IS NULL THEN if({valid_text}, {duplicates}, {invalid}) "
                f"ELSE {body(s, v)} END"
            ),
        )

    return bind(text, with_text)


def _behavior(word: TypedExpression, default: TypedExpression, message: str) -> str:
    """Return the SQL of NULL, ERROR or DEFAULT ... ON EMPTY or ON ERROR."""
    if word.sql == "ERROR":
        return raise_error_sql(message)
    return default.sql if word.sql == "DEFAULT" else "NULL"


def _json_value(arguments: Sequence[TypedExpression]) -> TypedExpression:
    value, path_argument, returning, empty_word, empty_default, error_word, error_default = arguments
    check_argument_type("JSON_VALUE", value, "string")
    if returning.sql not in _TYPES:
        raise UntranslatableError(
            f"JSON_VALUE ... RETURNING {returning.sql} is not supported; use STRING, INTEGER, BOOLEAN or CAST"
        )
    result = _TYPES[returning.sql]
    for default in (empty_default, error_default):
        check_argument_type("DEFAULT of JSON_VALUE", default, "string")
        if default.type is not None and result != STRING:
            raise UntranslatableError("DEFAULT of JSON_VALUE with RETURNING is not supported; use COALESCE")
    path = _read_path("JSON_VALUE", path_argument)
    empty = _behavior(empty_word, empty_default, "Empty result of JSON_VALUE function is not allowed")
    error = _behavior(error_word, error_default, "JSON_VALUE: the path does not lead to a value")
    missing = empty if path.is_lax else error

    def body(s: str, v: str) -> str:
        return bind(f"variant_get({v}, {path.sql}, 'variant')", lambda x: choose(s, v, x))

    def choose(s: str, v: str, x: str) -> str:
        scalar = _scalar_sql(s, x, path, result.name)
        return (
            f"CASE WHEN is_variant_null({v}) THEN {error} WHEN {x} IS NULL OR is_variant_null({x}) "
            f"OR schema_of_variant({x}) RLIKE '^(OBJECT|ARRAY)' THEN {missing} ELSE {scalar} END"
        )

    return TypedExpression(_with_document(value.sql, body, missing), result)


def _scalar_sql(s: str, x: str, path: _Path, result: str) -> str:
    kind = f"schema_of_variant({x})"
    if result != "STRING":
        error = raise_error_sql(f"ClassCastException: the value of JSON_VALUE is not {result}", f"to_json({x})")
        expected = "BOOLEAN" if result == "BOOLEAN" else "BIGINT"
        return f"coalesce(if({kind} = '{expected}', try_variant_get({x}, '$', '{result.lower()}'), NULL), {error})"
    quoted = f"regexp_replace({s}, {string_literal(_NUMBER)}, '$1\"$2\"')"
    digits = bind(
        f"variant_get(try_parse_json({quoted}), {path.sql}, 'string')",
        lambda d: (
            f"if({d} IS NULL OR {d} RLIKE {string_literal(_RENDERED_DIFFERENTLY)}, "
            f"{raise_error_sql('JSON_VALUE of a number that Flink writes differently', d)}, {d})"
        ),
    )
    return f"if({kind} RLIKE '^(DECIMAL|DOUBLE|FLOAT)', {digits}, CAST({x} AS STRING))"


def _json_exists(arguments: Sequence[TypedExpression]) -> TypedExpression:
    value, path_argument, error_word = arguments
    check_argument_type("JSON_EXISTS", value, "string")
    path = _read_path("JSON_EXISTS", path_argument)
    error = {"TRUE": "TRUE", "UNKNOWN": "NULL", "ERROR": raise_error_sql("JSON_EXISTS: the path does not exist")}.get(
        error_word.sql, "FALSE"
    )
    missing = "FALSE" if path.is_lax else error

    def body(_: str, v: str) -> str:
        found = f"variant_get({v}, {path.sql}, 'variant')"
        return (
            f"CASE WHEN is_variant_null({v}) THEN {error} WHEN {found} IS NULL OR is_variant_null({found}) "
            f"THEN {missing} ELSE TRUE END"
        )

    return TypedExpression(_with_document(value.sql, body, missing), BOOLEAN)


FUNCTIONS: Final[dict[str, Function]] = {"JSON_VALUE": _json_value, "JSON_EXISTS": _json_exists}
