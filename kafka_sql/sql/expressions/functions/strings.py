"""Translate functions of strings, and between strings, bytes and character codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.casts import translate_cast
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    call_java,
    check_argument_count,
    check_argument_type,
    checked,
    java_function,
    require_integer_literal,
    require_string_literal,
    simple_function,
)
from kafka_sql.sql.expressions.typed import (
    BOOLEAN,
    BYTES,
    INT,
    NUMERIC,
    STRING,
    TypedExpression,
    UntranslatableError,
    describe_type,
    value_family,
)
from kafka_sql.sql.grammar.types import FlinkType

_CHARSETS: Final = ("UTF-8", "UTF-16", "ISO-8859-1", "US-ASCII")
_LINE_BREAK: Final = string_constant("\r\n")
_SPECIFIER: Final = re.compile(r"%[^A-Za-z%]*([A-Za-z%])")  # of PRINTF


def _string_function(
    name: str, spark_name: str, min_count: int, max_count: int, result: FlinkType = STRING
) -> Function:
    """Return the translation of a function of strings that Spark has, too."""

    return simple_function(name, spark_name, result, *["string"] * max_count, min_count=min_count)


def _trim(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("TRIM", arguments, 1, 3)
    for argument in arguments[-2:]:
        check_argument_type("TRIM", argument, "string")
    if len(arguments) == 1:
        return TypedExpression(f"trim({arguments[0].sql})", STRING)
    side, characters, value = arguments
    return TypedExpression(f"trim({side.sql} {characters.sql} FROM {value.sql})", STRING)


def _trim_function(name: str, side: str) -> Function:
    @checked(name, "", "", required=1)
    def function(value: TypedExpression, *characters: TypedExpression) -> TypedExpression:
        space = TypedExpression("' '", STRING)
        return _trim([TypedExpression(side, None), characters[0] if characters else space, value])

    return function


@checked("SUBSTRING", "string", "integer", "integer", required=2)
def _substring(value: TypedExpression, *positions: TypedExpression) -> TypedExpression:
    position, *length = (a.sql for a in positions)

    def substring(x: str) -> str:
        return f"substring({', '.join((x, position, *length))})"

    if all(isinstance(a.literal, int) and a.literal >= 0 for a in positions):
        return TypedExpression(substring(value.sql), STRING)

    def body(x: str) -> str:
        negative = f"WHEN {length[0]} < 0 THEN NULL " if length else ""
        return f"CASE {negative}WHEN {position} < - char_length({x}) THEN '' ELSE {substring(x)} END"

    return TypedExpression(bind(value.sql, body), STRING)


@checked("REPLACE", "string", "string", "string")
def _replace(value: TypedExpression, old: TypedExpression, new: TypedExpression) -> TypedExpression:
    require_string_literal("REPLACE", old, "search string")
    return TypedExpression(f"replace({value.sql}, {old.sql}, {new.sql})", STRING)


def _pad_function(name: str) -> Function:
    @checked(name, "string", "", "")
    def function(value: TypedExpression, length: TypedExpression, pad: TypedExpression) -> TypedExpression:
        target_length = require_integer_literal(name, length, 0, "a length")
        padding = string_constant(require_string_literal(name, pad, "padding"))
        return TypedExpression(call_java(name, value.sql, str(target_length), padding), STRING)

    return function


@checked("OVERLAY", "string", "string", "", "", required=3)
def _overlay(
    value: TypedExpression, new: TypedExpression, position: TypedExpression, *length: TypedExpression
) -> TypedExpression:
    start = require_integer_literal("OVERLAY", position, 1, "a position")
    if new.literal is None:
        raise UntranslatableError("OVERLAY requires a replacement that is a literal")
    replaced = require_integer_literal("OVERLAY", length[0], 0, "a length") if length else -1  # the new text's length
    return TypedExpression(call_java("OVERLAY", value.sql, new.sql, str(start), str(replaced)), STRING)


def _position_function(name: str) -> Function:
    def function(first: TypedExpression, second: TypedExpression, *start: TypedExpression) -> TypedExpression:
        part, text = (second, first) if name == "INSTR" else (first, second)
        at = f", {require_integer_literal(name, start[0], 1, 'a start')}" if start else ""
        return TypedExpression(f"locate({part.sql}, {text.sql}{at})", INT)

    return checked(name, "string", "string", *([""] if name == "LOCATE" else []), required=2)(function)


@checked("SPLIT_INDEX", "string", "", "integer")
def _split_index(value: TypedExpression, delimiter: TypedExpression, index: TypedExpression) -> TypedExpression:
    separator = delimiter.literal
    if isinstance(separator, int):
        separator = chr(separator) if 0 < separator < 256 else ""
    if not separator:
        raise UntranslatableError("SPLIT_INDEX requires a delimiter that is a non-empty literal")
    regex = re.sub(r"([^\w\s])", r"\\\1", separator)
    return TypedExpression(f"get(split(nullif({value.sql}, ''), {string_constant(regex)}), {index.sql})", STRING)


@checked("SHA2", "string", "")
def _sha2(value: TypedExpression, length: TypedExpression) -> TypedExpression:
    if length.literal not in (224, 256, 384, 512):
        raise UntranslatableError("SHA2 requires a length that is a literal 224, 256, 384 or 512")
    return TypedExpression(f"sha2({value.sql}, {length.sql})", STRING)


def _printf(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("PRINTF", arguments, 1, 100)
    pattern = require_string_literal("PRINTF", arguments[0], "format")
    for specifier in _SPECIFIER.finditer(pattern):
        if specifier[1] in "hHtT":  # they depend on Flink's classes and on the machine's time zone
            raise UntranslatableError(f"PRINTF: '{specifier[0]}' is not supported; use %s %b %c %d %x %o %f %e %g %%")
    for number, value in enumerate(arguments[1:], 1):
        if value_family(value) not in (*NUMERIC, "string", "boolean", "null"):
            raise UntranslatableError(f"PRINTF: argument {number} is {describe_type(value.type)}; CAST it to STRING")
    values = ", ".join(value.sql for value in arguments[1:])
    return TypedExpression(call_java("PRINTF", string_constant(pattern), f"struct({values})"), STRING)


@checked("PARSE_URL", "string", "string", "string", required=2)
def _parse_url(*arguments: TypedExpression) -> TypedExpression:
    name = "PARSE_URL" if len(arguments) == 2 else "PARSE_URL_KEY"
    return TypedExpression(call_java(name, *(value.sql for value in arguments)), STRING)


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
    if name == "UTF-8":
        return translate_cast(value, STRING, "", is_try=False)
    return TypedExpression(f"decode({value.sql}, '{name}')", STRING)


FUNCTIONS: Final[dict[str, Function]] = {
    "UPPER": _string_function("UPPER", "upper", 1, 1),
    "LOWER": _string_function("LOWER", "lower", 1, 1),
    "TRIM": _trim,
    "LTRIM": _trim_function("LTRIM", "LEADING"),
    "RTRIM": _trim_function("RTRIM", "TRAILING"),
    "BTRIM": _trim_function("BTRIM", "BOTH"),
    "CHAR_LENGTH": _string_function("CHAR_LENGTH", "char_length", 1, 1, INT),
    "CHARACTER_LENGTH": _string_function("CHARACTER_LENGTH", "char_length", 1, 1, INT),
    "CONCAT": _string_function("CONCAT", "concat", 1, 999),  # NULL if any argument is NULL, in both
    "CONCAT_WS": _string_function("CONCAT_WS", "concat_ws", 2, 999),
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "LEFT": simple_function("LEFT", "left", STRING, "string", "integer"),
    "RIGHT": simple_function("RIGHT", "right", STRING, "string", "integer"),
    "REPLACE": _replace,
    "TRANSLATE": _string_function("TRANSLATE", "translate", 3, 3),
    "REVERSE": _string_function("REVERSE", "reverse", 1, 1),
    "REPEAT": simple_function("REPEAT", "repeat", STRING, "string", "integer"),
    "LPAD": _pad_function("LPAD"),
    "RPAD": _pad_function("RPAD"),
    "OVERLAY": _overlay,
    "POSITION": _position_function("POSITION"),
    "LOCATE": _position_function("LOCATE"),
    "INSTR": _position_function("INSTR"),
    "STARTSWITH": _string_function("STARTSWITH", "startswith", 2, 2, BOOLEAN),
    "ENDSWITH": _string_function("ENDSWITH", "endswith", 2, 2, BOOLEAN),
    "SPLIT_INDEX": _split_index,
    # depending on its settings, Spark inserts line breaks
    "TO_BASE64": simple_function(
        "TO_BASE64", f"replace(base64(CAST({{0}} AS BINARY)), {_LINE_BREAK}, '')", STRING, "string|binary"
    ),
    "MD5": _string_function("MD5", "md5", 1, 1),
    "SHA1": _string_function("SHA1", "sha1", 1, 1),
    **{f"SHA{n}": simple_function(f"SHA{n}", f"sha2({{0}}, {n})", STRING, "string") for n in (224, 256, 384, 512)},
    "SHA2": _sha2,
    "PARSE_URL": _parse_url,
    "PRINTF": _printf,
    "INITCAP": java_function("INITCAP", STRING, "string"),
    "ASCII": java_function("ASCII", INT, "string"),
    "CHR": simple_function("CHR", "chr({0})", STRING, "integer"),
    "FROM_BASE64": simple_function("FROM_BASE64", "kafka_sql.from_base_64", STRING, "string"),
    "ENCODE": _encode,
    "DECODE": _decode,
    "URL_ENCODE": simple_function("URL_ENCODE", "url_encode", STRING, "string"),
    "URL_DECODE": simple_function("URL_DECODE", "try_url_decode", STRING, "string"),
    "UNHEX": simple_function("UNHEX", "unhex", BYTES, "string"),
    **{name: java_function(name, BOOLEAN, "string") for name in ("IS_ALPHA", "IS_DIGIT", "IS_DECIMAL")},
    "UUID": simple_function("UUID", "uuid", STRING),
}
