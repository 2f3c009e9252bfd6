"""Translate LIKE, SIMILAR TO, whose patterns become Java's regular expressions, as in Flink, and REGEXP functions."""

from __future__ import annotations

import re
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    check_argument_type,
    checked,
    require_integer_literal,
    require_string_literal,
)
from kafka_sql.sql.expressions.typed import BOOLEAN, INT, STRING, TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType

_JAVA_SPECIALS: Final = "[]()|^-+*?{}$\\."
_SQL_SPECIALS: Final = "[]()|^-+*_%?{}"
_CLASSES: Final = {
    "[:ALPHA:]": r"\p{Alpha}",
    "[:UPPER:]": r"\p{Upper}",
    "[:LOWER:]": r"\p{Lower}",
    "[:DIGIT:]": r"\d",
    "[:SPACE:]": " ",
    "[:WHITESPACE:]": r"\s",
    "[:ALNUM:]": r"\p{Alnum}",
}
_REPLACED: Final = {"_": ".", "%": "(?s:.*)", "\\": r"\\", "$": r"\$"}


def translate_like(value: TypedExpression, pattern: TypedExpression, escape: TypedExpression | None) -> TypedExpression:
    """Translate ``value LIKE pattern [ESCAPE escape]``. Without ESCAPE, Flink has no escape character."""
    check_argument_type("LIKE", value, "string")
    check_argument_type("LIKE", pattern, "string")
    if escape is None and not isinstance(pattern.literal, str):
        backslash, escaped_backslash = string_constant("\\"), string_constant("\\\\")
        spark_pattern = f"replace({pattern.sql}, {backslash}, {escaped_backslash})"
        return TypedExpression(f"({value.sql} LIKE {spark_pattern})", BOOLEAN)
    if not isinstance(pattern.literal, str) or (escape is not None and len(str(escape.literal or "")) != 1):
        raise UntranslatableError("LIKE ... ESCAPE requires a pattern and a single character that are literals")
    escape_character = "" if escape is None else str(escape.literal)
    return TypedExpression(
        f"({value.sql} LIKE {string_constant(_translate_pattern(pattern.literal, escape_character))})", BOOLEAN
    )


def _translate_pattern(pattern: str, escape_character: str) -> str:
    """Return a LIKE pattern with the escape character replaced by Spark's, the backslash."""
    result, characters = [], iter(pattern)
    for character in characters:
        if character == escape_character:
            following = next(characters, "")
            if following not in ("%", "_", escape_character) or not following:
                raise UntranslatableError(
                    f"LIKE '{pattern}' ESCAPE '{escape_character}': Invalid escape sequence, as in Flink"
                )
            result.append("\\" + following if following in "%_\\" else following)
        else:
            result.append("\\\\" if character == "\\" else character)
    return "".join(result)


def translate_similar(
    value: TypedExpression, pattern: TypedExpression, escape: TypedExpression | None
) -> TypedExpression:
    """Translate ``value SIMILAR TO pattern [ESCAPE escape]``. Without ESCAPE, Flink has no escape character.

    Raises:
        UntranslatableError: a pattern that is not a literal, or that Flink rejects.
    """
    check_argument_type("SIMILAR TO", value, "string")
    if not isinstance(pattern.literal, str):
        raise UntranslatableError("SIMILAR TO requires a pattern that is a literal")
    character = ""
    if escape is not None:
        if not isinstance(escape.literal, str) or len(escape.literal) != 1:
            raise UntranslatableError("ESCAPE of SIMILAR TO requires a single character that is a literal")
        character = escape.literal
    return TypedExpression(f"({value.sql} RLIKE {string_constant(_to_regex(pattern.literal, character))})", BOOLEAN)


def _to_regex(pattern: str, escape: str) -> str:
    """Return the Java regular expression of a pattern, anchored at both ends."""
    if escape == ":" or "\0" in pattern:
        raise UntranslatableError(f"SIMILAR TO '{pattern}': the character {(escape or chr(0))!r} is not supported")
    result, depth, i = "", 0, 0
    while i < len(pattern):
        character = pattern[i]
        if escape and character == escape:
            result += _unescape(pattern, i, escape)
            i += 2
        elif character == "[":
            i, characters = _read_enumeration(pattern, i + 1, escape)
            result += f"[{characters}]"
        elif character == "]":
            raise _invalid(pattern, i)
        else:
            depth += (character == "(") - (character == ")")
            if depth < 0:
                raise _invalid(pattern, i)
            result += _REPLACED.get(character, character)
            i += 1
    if depth:
        raise _invalid(pattern, i)
    return rf"\A(?:{result})\z"


def _read_enumeration(pattern: str, start: int, escape: str) -> tuple[int, str]:
    """Return the index after the ``]`` of a character enumeration, and its characters for Java."""
    result, i = "", start
    while i < len(pattern):
        character = pattern[i]
        if character == "]":
            return i + 1, result
        if escape and character == escape:
            result += _unescape(pattern, i, escape)
            i += 2
        elif character in "-^":
            result += character
            i += 1
        elif pattern.startswith("[:", i):
            name = next((n for n in _CLASSES if pattern[i:].startswith((n, n.lower()))), None)
            if name is None:
                raise _invalid(pattern, i)
            result += _CLASSES[name]
            i += len(name)
        elif character in _SQL_SPECIALS or character == "\\":  # Flink does not escape a backslash here
            raise _invalid(pattern, i)
        else:
            result += character
            i += 1
    raise _invalid(pattern, i)


def _unescape(pattern: str, index: int, escape: str) -> str:
    following = pattern[index + 1 : index + 2]
    if following and following in _SQL_SPECIALS:
        return f"\\{following}" if following in _JAVA_SPECIALS else following
    if following == escape and escape not in _JAVA_SPECIALS:  # Flink does not escape these for Java
        return following
    raise _invalid(pattern, index)


def _invalid(pattern: str, index: int) -> UntranslatableError:
    return UntranslatableError(f"SIMILAR TO '{pattern}': invalid regular expression at index {index}; use REGEXP")


@checked("REGEXP", "string", "")
def _regexp(value: TypedExpression, pattern: TypedExpression) -> TypedExpression:
    regex = string_constant(require_string_literal("REGEXP", pattern, "pattern"))
    return TypedExpression(f"({value.sql} RLIKE {regex})", BOOLEAN)


@checked("REGEXP_REPLACE", "string", "", "")
def _replace(value: TypedExpression, pattern: TypedExpression, replacement: TypedExpression) -> TypedExpression:
    regex = string_constant(require_string_literal("REGEXP_REPLACE", pattern, "pattern"))
    if not isinstance(replacement.literal, str):
        raise UntranslatableError("REGEXP_REPLACE requires a replacement that is a literal")
    new = re.sub(r"([\\$])", r"\\\1", replacement.literal)  # Flink has no group references in replacements
    return TypedExpression(f"regexp_replace({value.sql}, {regex}, {string_constant(new)})", STRING)


@checked("REGEXP_EXTRACT", "string", "", "", required=2)
def _extract(value: TypedExpression, pattern: TypedExpression, *group: TypedExpression) -> TypedExpression:
    regex = require_string_literal("REGEXP_EXTRACT", pattern, "pattern")
    number = require_integer_literal("REGEXP_EXTRACT", group[0], 0, "a group") if group else 0
    if number and re.search(r"\||\)[?*{]|\(\?[^:]", regex):
        raise UntranslatableError(
            f"REGEXP_EXTRACT of group {number} of '{regex}': a group that does not match is NULL in Flink and empty "
            "in Spark; use a pattern without alternatives and optional groups"
        )
    quoted = string_constant(regex)
    sql = bind(value.sql, lambda x: f"if({x} RLIKE {quoted}, regexp_extract({x}, {quoted}, {number}), NULL)")
    return TypedExpression(sql, STRING)


@checked("REGEXP_EXTRACT_ALL", "string", "", "", required=2)
def _extract_all(value: TypedExpression, pattern: TypedExpression, *group: TypedExpression) -> TypedExpression:
    regex = require_string_literal("REGEXP_EXTRACT_ALL", pattern, "pattern")
    number = require_integer_literal("REGEXP_EXTRACT_ALL", group[0], 0, "a group") if group else 1
    if number and ("(" not in regex or re.search(r"\||\)[?*{]|\(\?[^:]|\\\(", regex)):
        raise UntranslatableError(
            f"REGEXP_EXTRACT_ALL of group {number} of '{regex}' requires a pattern with groups and without "
            "alternatives, optional groups and escaped parentheses"
        )
    return TypedExpression(
        f"regexp_extract_all({value.sql}, {string_constant(regex)}, {number})", FlinkType("ARRAY", elements=(STRING,))
    )


def _search(name: str, result: FlinkType) -> Function:
    @checked(name, "string", "")
    def function(value: TypedExpression, pattern: TypedExpression) -> TypedExpression:
        regex = string_constant(require_string_literal(name, pattern, "pattern"))
        return TypedExpression(f"{name.lower()}({value.sql}, {regex})", result)

    return function


FUNCTIONS: Final[dict[str, Function]] = {
    "REGEXP": _regexp,
    "REGEXP_REPLACE": _replace,
    "REGEXP_EXTRACT": _extract,
    "REGEXP_EXTRACT_ALL": _extract_all,
    "REGEXP_COUNT": _search("REGEXP_COUNT", INT),
    "REGEXP_INSTR": _search("REGEXP_INSTR", INT),
    "REGEXP_SUBSTR": _search("REGEXP_SUBSTR", STRING),
}
