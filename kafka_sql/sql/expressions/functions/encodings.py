"""Translate functions between strings, bytes and character codes, and functions that test characters."""

from __future__ import annotations

from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    checked,
    require_string_literal,
    simple_function,
)
from kafka_sql.sql.expressions.typed import BOOLEAN, BYTES, INT, STRING, TypedExpression, UntranslatableError

_BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$"
_CHARSETS = ("UTF-8", "UTF-16", "ISO-8859-1", "US-ASCII")
# Flink tests each UTF-16 code unit, so characters beyond U+FFFF are neither letters nor digits.
_LETTERS = r"^[\p{L}&&[^\x{10000}-\x{10FFFF}]]+$"
_DIGITS = r"^[\p{Nd}&&[^\x{10000}-\x{10FFFF}]]+$"

# what Java's Integer.parseInt, which accepts more than the digits 0 to 9, or Double.parseDouble accepts
_NUMBER = (
    r"^[\x00-\x20]*[-+]?(?:(?:NaN|Infinity)|(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9]+)?[fFdD]?"
    r"|0[xX](?:[0-9A-Fa-f]+[.]?[0-9A-Fa-f]*|[.][0-9A-Fa-f]+)[pP][-+]?[0-9]+[fFdD]?)[\x00-\x20]*$"
    r"|^[-+]?[\p{Nd}&&[^\x{10000}-\x{10FFFF}]]{1,18}$"
)


@checked("INITCAP", "string")
def _initcap(value: TypedExpression) -> TypedExpression:
    """Translate INITCAP, whose words consist of ASCII letters and digits."""
    parts = f"regexp_extract_all({value.sql}, '[A-Za-z0-9]+|[^A-Za-z0-9]+', 0)"
    word = "concat(upper(left(part, 1)), lower(substring(part, 2)))"
    capitalized = f"transform({parts}, part -> if(part RLIKE '^[A-Za-z0-9]', {word}, part))"
    return TypedExpression(f"array_join({capitalized}, '')", STRING)


@checked("ASCII", "string")
def _ascii(value: TypedExpression) -> TypedExpression:
    """Translate ASCII, the first byte, from -128 to 127."""
    byte = f"CAST(conv(hex(substring(CAST({value.sql} AS BINARY), 1, 1)), 16, 10) AS INT)"
    return TypedExpression(f"if({value.sql} = '', 0, {bind(byte, lambda x: f'if({x} > 127, {x} - 256, {x})')})", INT)


def _valid_text(value: str) -> str:
    error = raise_error_sql("the bytes are not valid UTF-8")
    return bind(value, lambda x: f"if(is_valid_utf8(CAST({x} AS STRING)), CAST({x} AS STRING), {error})")


@checked("FROM_BASE64", "string")
def _from_base64(value: TypedExpression) -> TypedExpression:
    def body(x: str) -> str:
        error = raise_error_sql("IllegalArgumentException: illegal base64", x)
        decoded = f"if({x} RLIKE {string_constant(_BASE64)}, {_valid_text(f'unbase64({x})')}, {error})"
        return f"if({x} IS NULL, NULL, {decoded})"

    return TypedExpression(bind(value.sql, body), STRING)


def _charset(name: str, value: TypedExpression) -> str:
    charset = require_string_literal(name, value, "character set").upper()
    if charset not in _CHARSETS:
        raise UntranslatableError(f"{name} supports only the character sets {', '.join(_CHARSETS)}")
    return charset


@checked("ENCODE", "string", "")
def _encode(value: TypedExpression, charset: TypedExpression) -> TypedExpression:
    return TypedExpression(f"encode({value.sql}, '{_charset('ENCODE', charset)}')", BYTES)


@checked("DECODE", "binary", "")
def _decode(value: TypedExpression, charset: TypedExpression) -> TypedExpression:
    name = _charset("DECODE", charset)
    return TypedExpression(_valid_text(value.sql) if name == "UTF-8" else f"decode({value.sql}, '{name}')", STRING)


def _character_test(name: str, pattern: str) -> Function:
    """Return the translation of a test that is false for NULL."""

    @checked(name, "string")
    def function(value: TypedExpression) -> TypedExpression:
        return TypedExpression(f"coalesce({value.sql} RLIKE {string_constant(pattern)}, FALSE)", BOOLEAN)

    return function


FUNCTIONS: Final[dict[str, Function]] = {
    "INITCAP": _initcap,
    "ASCII": _ascii,
    "CHR": simple_function("CHR", "chr({0})", STRING, "integer"),
    "FROM_BASE64": _from_base64,
    "ENCODE": _encode,
    "DECODE": _decode,
    "URL_ENCODE": simple_function("URL_ENCODE", "url_encode", STRING, "string"),
    "URL_DECODE": simple_function("URL_DECODE", "try_url_decode", STRING, "string"),
    "UNHEX": simple_function("UNHEX", "unhex", BYTES, "string"),
    "IS_ALPHA": _character_test("IS_ALPHA", _LETTERS),
    "IS_DIGIT": _character_test("IS_DIGIT", _DIGITS),
    "IS_DECIMAL": _character_test("IS_DECIMAL", _NUMBER),
}
