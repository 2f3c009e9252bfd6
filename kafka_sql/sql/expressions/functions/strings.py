"""Functions of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions.binding import bind, failure
from kafka_sql.sql.expressions.functions.signature import Function, count, number, of, takes, text
from kafka_sql.sql.expressions.typed import BOOLEAN, INT, STRING, TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType

_ASTRAL = r"[\x{10000}-\x{10FFFF}]"


def _in_plane(name: str, value: str, body: str) -> str:
    """Fails where Flink counts the two halves of a character and Spark the character."""
    error = failure(f"{name} of a character beyond U+FFFF, which counts twice in Flink", value)
    return f"if({value} RLIKE {string_literal(_ASTRAL)}, {error}, {body})"


def _strings(name: str, spark: str, least: int, most: int, result: FlinkType = STRING) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, least, most)
        for argument in arguments:
            takes(name, argument, "string")
        return TypedExpression(f"{spark}({', '.join(a.sql for a in arguments)})", result)

    return function


def _trim(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("TRIM", arguments, 1, 3)
    for argument in arguments[-2:]:
        takes("TRIM", argument, "string")
    if len(arguments) == 1:
        return TypedExpression(f"trim({arguments[0].sql})", STRING)
    side, characters, value = arguments
    return TypedExpression(f"trim({side.sql} {characters.sql} FROM {value.sql})", STRING)


def _trim_side(name: str, side: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 1, 2)
        value, *characters = arguments
        return _trim(
            [TypedExpression(side, None), characters[0] if characters else TypedExpression("' '", STRING), value]
        )

    return function


def _substring(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("SUBSTRING", arguments, 2, 3)
    takes("SUBSTRING", arguments[0], "string")
    for place in arguments[1:]:
        takes("SUBSTRING", place, "integer")
    value, position, *length = (a.sql for a in arguments)
    literals = [a.literal for a in arguments[1:]]
    plain = f"substring({', '.join((value, position, *length))})"
    if all(isinstance(x, int) and x >= 0 for x in literals):
        return TypedExpression(plain, STRING)

    def body(x: str) -> str:
        negative = f"WHEN {length[0]} < 0 THEN NULL " if length else ""
        rest = f"substring({', '.join((x, position, *length))})"
        return f"CASE {negative}WHEN {position} < - char_length({x}) THEN '' ELSE {rest} END"

    return TypedExpression(bind(value, body), STRING)


def _replace(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("REPLACE", arguments, 3)
    for argument in arguments:
        takes("REPLACE", argument, "string")
    text("REPLACE", arguments[1], "text to look for")
    return TypedExpression(f"replace({', '.join(a.sql for a in arguments)})", STRING)


def _pad(name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 3)
        value, length, pad = arguments
        takes(name, value, "string")
        size = number(name, length, 0, "a length")
        filler = string_literal(text(name, pad, "padding"))
        return TypedExpression(
            bind(value.sql, lambda x: _in_plane(name, x, f"{name.lower()}({x}, {size}, {filler})")), STRING
        )

    return function


def _overlay(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("OVERLAY", arguments, 3, 4)
    value, new, position, *length = arguments
    takes("OVERLAY", value, "string")
    takes("OVERLAY", new, "string")
    start = number("OVERLAY", position, 1, "a position")
    end = f" FOR {number('OVERLAY', length[0], 0, 'a length')}" if length else ""
    if new.literal is None:
        raise UntranslatableError("OVERLAY is translated for a new text that is a literal")
    return TypedExpression(
        bind(
            value.sql,
            lambda x: _in_plane(
                "OVERLAY",
                x,
                f"if(char_length({x}) < {start}, {x}, overlay({x} PLACING {new.sql} FROM {start}{end}))",
            ),
        ),
        STRING,
    )


def _position(name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, 2, 3 if name == "LOCATE" else 2)
        places = arguments[1::-1] if name == "INSTR" else arguments[:2]
        for argument in places:
            takes(name, argument, "string")
        start = f", {number(name, arguments[2], 1, 'a start')}" if len(arguments) > 2 else ""
        return TypedExpression(f"locate({places[0].sql}, {places[1].sql}{start})", INT)

    return function


def _split_index(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("SPLIT_INDEX", arguments, 3)
    value, delimiter, index = arguments
    takes("SPLIT_INDEX", value, "string")
    takes("SPLIT_INDEX", index, "integer")
    separator = delimiter.literal
    if isinstance(separator, int):
        separator = chr(separator) if 0 < separator < 256 else ""
    if not separator:
        raise UntranslatableError("SPLIT_INDEX is translated for a delimiter that is a literal and not empty")
    regex = re.sub(r"([^\w\s])", r"\\\1", separator)
    return TypedExpression(f"get(split(nullif({value.sql}, ''), {string_literal(regex)}), {index.sql})", STRING)


def _base64(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("TO_BASE64", arguments, 1)
    takes("TO_BASE64", arguments[0], "string")
    # A setting of Spark breaks the lines.
    return TypedExpression(f"replace(base64(CAST({arguments[0].sql} AS BINARY)), '\\r\\n', '')", STRING)


def _sha2(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("SHA2", arguments, 2)
    takes("SHA2", arguments[0], "string")
    if arguments[1].literal not in (224, 256, 384, 512):
        raise UntranslatableError("SHA2 is translated for a length of 224, 256, 384 or 512 that is a literal")
    return TypedExpression(f"sha2({arguments[0].sql}, {arguments[1].sql})", STRING)


def _concat_ws(arguments: Sequence[TypedExpression]) -> TypedExpression:
    return _strings("CONCAT_WS", "concat_ws", 2, 999)(arguments)


FUNCTIONS: Final[dict[str, Function]] = {
    "UPPER": _strings("UPPER", "upper", 1, 1),
    "LOWER": _strings("LOWER", "lower", 1, 1),
    "TRIM": _trim,
    "LTRIM": _trim_side("LTRIM", "LEADING"),
    "RTRIM": _trim_side("RTRIM", "TRAILING"),
    "BTRIM": _trim_side("BTRIM", "BOTH"),
    "CHAR_LENGTH": _strings("CHAR_LENGTH", "char_length", 1, 1, INT),
    "CHARACTER_LENGTH": _strings("CHARACTER_LENGTH", "char_length", 1, 1, INT),
    "CONCAT": _strings("CONCAT", "concat", 1, 999),  # NULL where one of them is, in both
    "CONCAT_WS": _concat_ws,
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "LEFT": of("LEFT", "left", STRING, "string", "integer"),
    "RIGHT": of("RIGHT", "right", STRING, "string", "integer"),
    "REPLACE": _replace,
    "TRANSLATE": _strings("TRANSLATE", "translate", 3, 3),
    "REVERSE": _strings("REVERSE", "reverse", 1, 1),
    "REPEAT": of("REPEAT", "repeat", STRING, "string", "integer"),
    "LPAD": _pad("LPAD"),
    "RPAD": _pad("RPAD"),
    "OVERLAY": _overlay,
    "POSITION": _position("POSITION"),
    "LOCATE": _position("LOCATE"),
    "INSTR": _position("INSTR"),
    "STARTSWITH": _strings("STARTSWITH", "startswith", 2, 2, BOOLEAN),
    "ENDSWITH": _strings("ENDSWITH", "endswith", 2, 2, BOOLEAN),
    "SPLIT_INDEX": _split_index,
    "TO_BASE64": _base64,
    "MD5": _strings("MD5", "md5", 1, 1),
    "SHA1": _strings("SHA1", "sha1", 1, 1),
    **{f"SHA{n}": of(f"SHA{n}", f"sha2({{0}}, {n})", STRING, "string") for n in (224, 256, 384, 512)},
    "SHA2": _sha2,
    "UUID": of("UUID", "uuid", STRING),
}
