"""Translate LIKE and regular expression functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    check_argument_count,
    check_argument_type,
    require_integer_literal,
    require_string_literal,
)
from kafka_sql.sql.expressions.typed import BOOLEAN, INT, STRING, TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType


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


def _regexp(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("REGEXP", arguments, 2)
    check_argument_type("REGEXP", arguments[0], "string")
    return TypedExpression(
        f"({arguments[0].sql} RLIKE {string_constant(require_string_literal('REGEXP', arguments[1], 'pattern'))})",
        BOOLEAN,
    )


def _replace(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("REGEXP_REPLACE", arguments, 3)
    check_argument_type("REGEXP_REPLACE", arguments[0], "string")
    pattern = require_string_literal("REGEXP_REPLACE", arguments[1], "pattern")
    if not isinstance(arguments[2].literal, str):
        raise UntranslatableError("REGEXP_REPLACE requires a replacement that is a literal")
    new = re.sub(r"([\\$])", r"\\\1", arguments[2].literal)  # Flink has no group references in replacements
    return TypedExpression(
        f"regexp_replace({arguments[0].sql}, {string_constant(pattern)}, {string_constant(new)})", STRING
    )


def _extract(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("REGEXP_EXTRACT", arguments, 2, 3)
    check_argument_type("REGEXP_EXTRACT", arguments[0], "string")
    pattern = require_string_literal("REGEXP_EXTRACT", arguments[1], "pattern")
    group = require_integer_literal("REGEXP_EXTRACT", arguments[2], 0, "a group") if len(arguments) > 2 else 0
    if group and re.search(r"\||\)[?*{]|\(\?[^:]", pattern):
        raise UntranslatableError(
            f"REGEXP_EXTRACT of group {group} of '{pattern}': a group that does not match is NULL in Flink and empty "
            "in Spark; use a pattern without alternatives and optional groups"
        )
    extract = bind(
        arguments[0].sql,
        lambda x: (
            f"if({x} RLIKE {string_constant(pattern)}, regexp_extract({x}, {string_constant(pattern)}, {group}), NULL)"
        ),
    )
    return TypedExpression(extract, STRING)


def _count(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("REGEXP_COUNT", arguments, 2)
    check_argument_type("REGEXP_COUNT", arguments[0], "string")
    pattern = require_string_literal("REGEXP_COUNT", arguments[1], "pattern")
    return TypedExpression(f"regexp_count({arguments[0].sql}, {string_constant(pattern)})", INT)


def _extract_all(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("REGEXP_EXTRACT_ALL", arguments, 2, 3)
    check_argument_type("REGEXP_EXTRACT_ALL", arguments[0], "string")
    pattern = require_string_literal("REGEXP_EXTRACT_ALL", arguments[1], "pattern")
    group = require_integer_literal("REGEXP_EXTRACT_ALL", arguments[2], 0, "a group") if len(arguments) > 2 else 1
    if group and ("(" not in pattern or re.search(r"\||\)[?*{]|\(\?[^:]|\\\(", pattern)):
        raise UntranslatableError(
            f"REGEXP_EXTRACT_ALL of group {group} of '{pattern}' requires a pattern with groups and without "
            "alternatives, optional groups and escaped parentheses"
        )
    return TypedExpression(
        f"regexp_extract_all({arguments[0].sql}, {string_constant(pattern)}, {group})",
        FlinkType("ARRAY", elements=(STRING,)),
    )


def _search(name: str, result: FlinkType) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        check_argument_count(name, arguments, 2)
        check_argument_type(name, arguments[0], "string")
        pattern = require_string_literal(name, arguments[1], "pattern")
        return TypedExpression(f"{name.lower()}({arguments[0].sql}, {string_constant(pattern)})", result)

    return function


FUNCTIONS: Final[dict[str, Function]] = {
    "REGEXP": _regexp,
    "REGEXP_REPLACE": _replace,
    "REGEXP_EXTRACT": _extract,
    "REGEXP_EXTRACT_ALL": _extract_all,
    "REGEXP_COUNT": _count,
    "REGEXP_INSTR": _search("REGEXP_INSTR", INT),
    "REGEXP_SUBSTR": _search("REGEXP_SUBSTR", STRING),
}
