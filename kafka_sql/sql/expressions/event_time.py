"""Find the source column from which an event time is computed, so that records can be ordered by it without Spark."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from sqlglot import exp

from kafka_sql.sql.grammar.types import STRINGS
from kafka_sql.table.table import EventTimeSource

# the path of a column or field, and the units of the expression's value per unit of the source's, if known
_Source: TypeAlias = tuple[tuple[str, ...], float | None]
_MICROSECONDS: Final = {"0": 1e6, "3": 1e3}  # by the precision of TO_TIMESTAMP_LTZ
_LETTERS: Final = "yMdHmsS"  # from the largest unit to the smallest


def event_time_source(expression: exp.Expr) -> EventTimeSource | None:
    """Return the column or field from which an event time is computed, if a larger value never gives an earlier time.

    Supported are the usual conversions: TO_TIMESTAMP_LTZ, TO_TIMESTAMP, FROM_UNIXTIME and CAST, and arithmetic with a
    positive constant or an interval.

    Returns:
        None for another expression, such as CASE or one with two columns.
    """
    source = _find_source(expression)
    return EventTimeSource(*source) if source is not None else None


def is_proctime(expression: exp.Expr) -> bool:
    """Return whether an expression is a processing-time attribute: ``PROCTIME()``."""
    node = expression.unnest()
    return isinstance(node, exp.Anonymous) and node.name.upper() == "PROCTIME"


def _find_source(node: exp.Expr) -> _Source | None:
    match node:
        case exp.Paren():
            return _find_source(node.this)
        case exp.Column():
            return (node.name,), 1.0
        case exp.Dot():
            row = _find_source(node.this) if isinstance(node.this, exp.Column | exp.Dot) else None
            return ((*row[0], node.expression.name), 1.0) if row is not None else None
        case exp.Cast() | exp.TryCast():
            source = _find_source(node.this)
            if source is not None and node.args["to"].name in STRINGS and not isinstance(node.this, exp.Anonymous):
                return source[0], None  # the column may be a number such as 20260302, which has no unit
            return source
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _find_in_arithmetic(node)
        case exp.Anonymous():
            return _find_in_call(node)
    return None


def _find_in_arithmetic(node: exp.Binary) -> _Source | None:
    source = _find_source(node.left)
    if source is None or isinstance(node.right, exp.Interval):
        return source if isinstance(node, exp.Add | exp.Sub) else None
    path, unit = source
    factor = float(node.right.name) if isinstance(node.right, exp.Literal) and not node.right.is_string else 0.0
    if factor <= 0 or unit is None:
        return None
    if isinstance(node, exp.Add | exp.Sub):
        return source
    return path, unit * factor if isinstance(node, exp.Mul) else unit / factor


def _find_in_call(node: exp.Anonymous) -> _Source | None:
    arguments = node.expressions
    source = _find_source(arguments[0]) if arguments else None
    if source is None:
        return None
    path, unit = source
    second = arguments[1].name if len(arguments) > 1 else None
    match node.name.upper():
        case "TO_TIMESTAMP_LTZ" if len(arguments) == 2 and arguments[1].is_string:
            return source if _is_sortable(arguments[1].name) else None
        case "TO_TIMESTAMP_LTZ" if len(arguments) < 3:  # with a time zone, times in a skipped hour are later
            microseconds = _MICROSECONDS.get(second or "3")
        case "FROM_UNIXTIME" if second is None or _is_sortable(second):
            microseconds = 1e6
        case "TO_TIMESTAMP" if second is None or _is_sortable(second):
            return source
        case _:
            return None
    return path, unit * microseconds if unit is not None and microseconds is not None else None


def _is_sortable(pattern: str) -> bool:
    """Return whether strings in a pattern of java.time sort in the order of their times."""
    letters = re.findall(r"([A-Za-z])\1*", re.sub(r"'[^']*'", "", pattern))
    return letters == list(_LETTERS[: len(letters)])
