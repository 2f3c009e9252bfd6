"""Translate SIMILAR TO: the SQL standard's regular expressions become Java's, as in Flink."""

from __future__ import annotations

from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.functions.signature import check_argument_type
from kafka_sql.sql.expressions.typed import BOOLEAN, TypedExpression, UntranslatableError

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
