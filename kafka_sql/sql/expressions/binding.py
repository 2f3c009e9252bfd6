"""Spark SQL that needs a value more than once, and errors that are raised where Flink raises one.

Spark's ANSI mode decides whether much of it fails or gives NULL, so what must fail says so itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions.typed import UntranslatableError

_ATOM = r"(?:(?:`(?:[^`]|``)*`\.?)+|__\d+|-?[\d.]+[A-Z]*|'[^'\\]{0,60}'|TRUE|FALSE|NULL)"
_SIMPLE = re.compile(rf"{_ATOM}|CAST\({_ATOM} AS [\w(),]+\)")
_NAME = re.compile(r"\b__(\d+)\b")
_LONGEST = 200_000


def bind(value: str, body: Callable[[str], str]) -> str:
    """``body`` of a value that is evaluated once: a lambda's argument, but for columns and literals."""
    if _SIMPLE.fullmatch(value):
        return body(value)
    name = f"__{1 + max((int(n) for n in _NAME.findall(value + body(value))), default=0)}"
    text = f"element_at(transform(array({value}), {name} -> {body(name)}), 1)"
    if len(text) > _LONGEST:
        raise UntranslatableError("the expression is nested too deeply to be translated; use several computed columns")
    return text


def bind2(a: str, b: str, body: Callable[[str, str], str]) -> str:
    """``body`` of two values that are evaluated once."""
    return bind(a, lambda x: bind(b, lambda y: body(x, y)))


def failure(message: str, value: str | None = None) -> str:
    """An error with Flink's words, in ANSI mode and without; ``value`` is shown behind them."""
    if value is None:
        return f"raise_error({string_literal(message)})"
    return f"raise_error(concat({string_literal(message + ': ')}, CAST({value} AS STRING)))"
