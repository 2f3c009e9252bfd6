"""Build Spark SQL that uses a value more than once, and SQL that raises Flink's errors.

Whether Spark fails or returns NULL often depends on ANSI mode, so errors are raised explicitly.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.typed import UntranslatableError

_ATOM = r"(?:(?:`(?:[^`]|``)*`\.?)+|__\d+|-?[\d.]+[A-Z]*|X?'[^'\\]{0,60}'|TRUE|FALSE|NULL)"
_SIMPLE = re.compile(rf"{_ATOM}|CAST\({_ATOM} AS [\w(),]+\)")
_VARIABLE = re.compile(r"\b__(\d+)\b")
_MAX_LENGTH = 200_000  # characters


def bind(value: str, body: Callable[[str], str]) -> str:
    """Return ``body(value)`` such that Spark evaluates ``value`` once, however often the body uses it.

    Unless it is a column or a literal, ``value`` becomes the argument of a Spark lambda function, and the body uses
    the lambda's parameter: ``element_at(transform(array(value), __1 -> body(__1)), 1)``.
    """
    if _SIMPLE.fullmatch(value):
        return body(value)
    name = new_variable(value + body(value))
    text = f"element_at(transform(array({value}), {name} -> {body(name)}), 1)"
    if len(text) > _MAX_LENGTH:
        raise UntranslatableError("the expression is nested too deeply; split it into several computed columns")
    return text


def new_variable(sql: str) -> str:
    """Return a name for the parameter of a lambda function that does not appear in ``sql``."""
    return f"__{1 + max((int(n) for n in _VARIABLE.findall(sql)), default=0)}"


def bind2(a: str, b: str, body: Callable[[str, str], str]) -> str:
    """Return ``body(a, b)`` with both values evaluated once."""
    return bind(a, lambda x: bind(b, lambda y: body(x, y)))


def raise_error_sql(message: str, value: str | None = None) -> str:
    """Return SQL that raises Flink's error message, followed by ``value``, with and without ANSI mode."""
    if value is None:
        return f"raise_error({string_constant(message)})"
    return f"raise_error(concat({string_constant(message + ': ')}, CAST({value} AS STRING)))"
