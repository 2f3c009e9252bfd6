"""Translate functions of a text that may be JSON: IS JSON, JSON_QUOTE and JSON_UNQUOTE."""

from __future__ import annotations

from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.json import is_json
from kafka_sql.sql.expressions.functions.signature import Function, checked
from kafka_sql.sql.expressions.typed import BOOLEAN, STRING, TypedExpression

_ESCAPES: Final = {"\\": "\\", '"': '"', "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_BACKSLASH: Final = chr(92)
_UNICODE: Final = string_constant(_BACKSLASH + "u")
_ASCII: Final = r"^[\x00-\x7F]"
_BMP: Final = r"^[\x80-\uFFFF]"
_RUNS: Final = r"[\x00-\x7F]+|[\x80-\uFFFF]+|[\x{10000}-\x{10FFFF}]"
_PARTS: Final = r"(?:\\u[0-9A-Fa-f]{4})+|\\[^u]|[^\\]+"


@checked("IS JSON", "", "string")
def _is_json(kind: TypedExpression, value: TypedExpression) -> TypedExpression:
    starts = {"OBJECT": r"^\s*\{", "ARRAY": r"^\s*\[", "SCALAR": r"^\s*[^\s\[{]"}

    def test(s: str) -> str:
        valid = is_json(s)
        if kind.sql == "VALUE":
            return valid
        return f"coalesce({s} RLIKE {string_constant(starts[kind.sql])} AND {valid}, FALSE)"

    return TypedExpression(bind(value.sql, test), BOOLEAN)


@checked("JSON_QUOTE", "string")
def _json_quote(value: TypedExpression) -> TypedExpression:
    """Translate JSON_QUOTE. Of a character beyond U+FFFF, Flink writes the code point and the second code unit."""
    escaped = value.sql
    for character, letter in _ESCAPES.items():
        escaped = f"replace({escaped}, {string_constant(character)}, {string_constant(_BACKSLASH + letter)})"
    utf16, utf32 = "lower(hex(encode(part, 'UTF-16BE')))", "lower(hex(encode(part, 'UTF-32')))"
    bmp = f"regexp_replace({utf16}, '(.{{4}})', {string_constant(_BACKSLASH * 2 + 'u$1')})"
    supplementary = f"concat({_UNICODE}, ltrim('0', {utf32}), {_UNICODE}, right({utf16}, 4))"
    quoted = bind(
        escaped,
        lambda x: (
            f"array_join(transform(regexp_extract_all({x}, {string_constant(_RUNS)}, 0), part -> "
            f"CASE WHEN part RLIKE {string_constant(_ASCII)} THEN part "
            f"WHEN part RLIKE {string_constant(_BMP)} THEN {bmp} ELSE {supplementary} END), '')"
        ),
    )
    return TypedExpression(f"concat('\"', {quoted}, '\"')", STRING)


@checked("JSON_UNQUOTE", "string")
def _json_unquote(value: TypedExpression) -> TypedExpression:
    whens = " ".join(
        f"WHEN part = {string_constant(_BACKSLASH + letter)} THEN {string_constant(character)}"
        for character, letter in _ESCAPES.items()
    )
    decoded = f"decode(unhex(replace(part, {string_constant(_BACKSLASH + 'u')}, '')), 'UTF-16BE')"
    unescaped = f"CASE {whens} WHEN part LIKE {string_constant(_BACKSLASH * 2 + 'u%')} THEN {decoded} ELSE part END"

    def join(body: str, parts: str, error: str) -> str:
        return (
            f"if(array_join({parts}, '') <> {body}, {error}, array_join(transform({parts}, part -> {unescaped}), ''))"
        )

    def unquote(s: str) -> str:
        error = raise_error_sql("JSON_UNQUOTE of JSON that is followed by other text", s)
        parts = bind(
            f"substring({s}, 2, char_length({s}) - 2)",
            lambda b: bind(f"regexp_extract_all({b}, {string_constant(_PARTS)}, 0)", lambda p: join(b, p, error)),
        )
        return f"if({s} RLIKE '(?s)^\".*\"$' AND {is_json(s)}, {parts}, {s})"

    return TypedExpression(bind(value.sql, unquote), STRING)


FUNCTIONS: Final[dict[str, Function]] = {
    "IS JSON": _is_json,
    "JSON_QUOTE": _json_quote,
    "JSON_UNQUOTE": _json_unquote,
}
