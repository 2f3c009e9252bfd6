"""LIKE and regular expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.functions.signature import Function, count, number, takes, text
from kafka_sql.sql.expressions.typed import BOOLEAN, INT, STRING, TypedExpression, UntranslatableError


def like(value: TypedExpression, pattern: TypedExpression, escape: TypedExpression | None) -> TypedExpression:
    """``value LIKE pattern [ESCAPE escape]``; without ESCAPE a backslash is a character to Flink."""
    takes("LIKE", value, "string")
    takes("LIKE", pattern, "string")
    if escape is None and not isinstance(pattern.literal, str):
        doubled = f"replace({pattern.sql}, {string_literal(chr(92))}, {string_literal(chr(92) * 2)})"
        return TypedExpression(f"({value.sql} LIKE {doubled})", BOOLEAN)
    if not isinstance(pattern.literal, str) or (escape is not None and len(str(escape.literal or "")) != 1):
        raise UntranslatableError("LIKE ... ESCAPE is translated for a pattern and one character that are literals")
    mark = "" if escape is None else str(escape.literal)
    return TypedExpression(f"({value.sql} LIKE {string_literal(_spark_pattern(pattern.literal, mark))})", BOOLEAN)


def _spark_pattern(pattern: str, mark: str) -> str:
    result, rest = [], iter(pattern)
    for character in rest:
        if character == mark:
            following = next(rest, "")
            if following not in ("%", "_", mark) or not following:
                raise UntranslatableError(f"LIKE '{pattern}' ESCAPE '{mark}': Invalid escape sequence, as in Flink")
            result.append("\\" + following if following in "%_\\" else following)
        else:
            result.append("\\\\" if character == "\\" else character)
    return "".join(result)


def _regexp(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("REGEXP", arguments, 2)
    takes("REGEXP", arguments[0], "string")
    return TypedExpression(
        f"({arguments[0].sql} RLIKE {string_literal(text('REGEXP', arguments[1], 'pattern'))})", BOOLEAN
    )


def _replace(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("REGEXP_REPLACE", arguments, 3)
    takes("REGEXP_REPLACE", arguments[0], "string")
    pattern = text("REGEXP_REPLACE", arguments[1], "pattern")
    if not isinstance(arguments[2].literal, str):
        raise UntranslatableError("REGEXP_REPLACE is translated for a replacement that is a literal")
    new = re.sub(r"([\\$])", r"\\\1", arguments[2].literal)  # Flink knows no groups in it
    return TypedExpression(
        f"regexp_replace({arguments[0].sql}, {string_literal(pattern)}, {string_literal(new)})", STRING
    )


def _extract(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("REGEXP_EXTRACT", arguments, 2, 3)
    takes("REGEXP_EXTRACT", arguments[0], "string")
    pattern = text("REGEXP_EXTRACT", arguments[1], "pattern")
    group = number("REGEXP_EXTRACT", arguments[2], 0, "a group") if len(arguments) > 2 else 0
    if group and re.search(r"\||\)[?*{]|\(\?[^:]", pattern):
        raise UntranslatableError(
            f"REGEXP_EXTRACT of group {group} of '{pattern}': a group that takes no part is NULL in Flink and empty in "
            "Spark; write the pattern without alternatives and optional groups"
        )
    found = bind(
        arguments[0].sql,
        lambda x: (
            f"if({x} RLIKE {string_literal(pattern)}, regexp_extract({x}, {string_literal(pattern)}, {group}), NULL)"
        ),
    )
    return TypedExpression(found, STRING)


def _count(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("REGEXP_COUNT", arguments, 2)
    takes("REGEXP_COUNT", arguments[0], "string")
    return TypedExpression(
        f"regexp_count({arguments[0].sql}, {string_literal(text('REGEXP_COUNT', arguments[1], 'pattern'))})", INT
    )


FUNCTIONS: Final[dict[str, Function]] = {
    "REGEXP": _regexp,
    "REGEXP_REPLACE": _replace,
    "REGEXP_EXTRACT": _extract,
    "REGEXP_COUNT": _count,
}
