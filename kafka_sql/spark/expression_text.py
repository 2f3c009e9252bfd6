"""Write Spark's expressions as text that is the same in all sessions and versions of Spark."""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import Final

from kafka_sql.spark.plan import AGGREGATE_FUNCTION, SOURCE_COLUMN, Expression

_OPERATORS: Final = {
    "Add": "+",
    "And": "AND",
    "Divide": "/",
    "EqualNullSafe": "<=>",
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "Multiply": "*",
    "Or": "OR",
    "Remainder": "%",
    "Subtract": "-",
}
_WRAPPERS: Final = frozenset({"Alias", "KnownNotNull", "KnownNullable", "TempResolvedColumn"})  # do not change a value
_WINDOW_STRUCT: Final = "CreateNamedStruct"  # to which Spark expands window() and session_window()
WINDOW_MARK: Final = "PreciseTimestampConversion"  # only used for windows
_UNITS: Final = ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second"))
_TYPES_WITH_TEXT: Final = ("string", "binary", "varchar", "char", "variant", "{")  # arrays, maps and structs are JSON
_DIGEST_CHARACTERS: Final = 12
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def render(expression: Expression) -> str:
    """Return an expression as text. Strings may be secrets, so they appear as digests."""
    name, children = expression.name, expression.children
    if name in _WRAPPERS and children:
        return render(children[0])
    if name in (SOURCE_COLUMN, "AttributeReference"):
        return expression.text
    if name == "Literal":
        if expression.type.startswith(_TYPES_WITH_TEXT) and expression.text != "NULL":
            return f"'#{hashlib.sha256(expression.text.encode()).hexdigest()[:_DIGEST_CHARACTERS]}'"
        return expression.text
    if name == "Cast":
        if expression.type == "interval":  # the gap of a session window
            return children[0].text or render(children[0])
        return f"CAST({render(children[0])} AS {expression.type})"
    if name == "GetStructField":
        return f"{render(children[0])}.{expression.text}"
    if name == AGGREGATE_FUNCTION:
        return _render_aggregate(expression)
    if is_window(expression):
        with contextlib.suppress(
            ValueError, IndexError, StopIteration
        ):  # another version of Spark builds the struct differently
            return _render_window(expression)
    if name in _OPERATORS and len(children) == 2:
        return f"({render(children[0])} {_OPERATORS[name]} {render(children[1])})"
    function = expression.text or _WORD_START.sub("_", name).lower()
    return f"{function}({', '.join(map(render, children))})"


def is_window(expression: Expression) -> bool:
    """Return whether an expression is the struct to which Spark expands window() or session_window()."""
    return expression.name == _WINDOW_STRUCT and any(part.name == WINDOW_MARK for part in expression.walk())


def _render_aggregate(expression: Expression) -> str:
    """Return a call of an aggregate function, with DISTINCT and FILTER."""
    if not expression.children:
        return ""
    text = render(expression.children[0])
    if expression.text:
        name, _, arguments = text.partition("(")
        text = f"{name}({expression.text} {arguments}"
    return text if len(expression.children) == 1 else f"{text} FILTER (WHERE {render(expression.children[1])})"


def _render_window(struct: Expression) -> str:
    """Return ``window(column, size, slide, offset)`` or ``session_window(column, gap)``.

    A time window is a struct of its start, ``time - CASE ... (time - offset) % slide ... END - n * slide``, and its
    end, ``start + size``; a session window is a struct of ``time`` and ``time + gap``.
    """
    start, end = (_strip(struct.children[i]) for i in (1, 3))
    if not any(part.name == WINDOW_MARK for part in start.walk()):
        end = end.children[0] if end.name == "Cast" else end
        return f"session_window({render(start)}, {render(end.children[1])})"
    case = start.children[0].children[1]
    shifted, slide = next(part.children for part in case.walk() if part.name == "Remainder")
    time, offset = shifted.children
    durations = [int(duration.text) for duration in (end.children[1], slide, offset)]
    if durations[2] == 0:
        durations.pop()
    if durations[1:] == durations[:1]:
        durations.pop()
    return f"window({', '.join([render(_strip(time)), *map(_duration, durations)])})"


def _strip(expression: Expression) -> Expression:
    """Return the expression inside wrappers and conversions."""
    while expression.name in _WRAPPERS or expression.name == WINDOW_MARK:
        expression = expression.children[0]
    return expression


def _duration(microseconds: int) -> str:
    """Return a duration in its largest whole unit."""
    for size, unit in _UNITS:
        if microseconds % size == 0:
            count = microseconds // size
            return f"{count} {unit}" + ("s" if abs(count) != 1 else "")
    return f"{microseconds} microseconds"
