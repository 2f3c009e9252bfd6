"""Compute the delay of ``WATERMARK FOR column AS expression``: Spark's watermark is a column minus a fixed delay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.expressions.interval import Interval, parse_fixed_interval, sum_intervals
from kafka_sql.sql.grammar.statement_nodes import WatermarkDeclaration
from kafka_sql.sql.grammar.types import FlinkType

_MICROSECONDS: Final = {"SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6, "DAY": 86400 * 10**6}
_UNITS: Final = {**_MICROSECONDS, "WEEK": 7 * _MICROSECONDS["DAY"]}


class _NotFixedError(Exception):
    """The expression is not the column minus a fixed delay."""


def watermark_delay(watermark: WatermarkDeclaration, type: FlinkType) -> str:
    """Return the delay as a Spark interval without the keyword INTERVAL, such as ``'5' SECOND``.

    Besides ``column - INTERVAL ...``, this supports ``+``, sums and multiples of intervals, TIMESTAMPADD with a
    constant, and casts that change nothing.

    Args:
        type: the column's type.

    Raises:
        UnsupportedSqlError: another expression, a delay without a fixed length, or a negative delay.
    """
    context = f"WATERMARK FOR {watermark.column}"
    try:
        delays = list(_read_delays(watermark.expression, watermark.column, type, context))
    except _NotFixedError:
        raise UnsupportedSqlError(
            f"{context} AS {watermark.text}: Spark supports only the column minus a fixed delay. "
            f"Write {watermark.column} - INTERVAL '5' SECOND, or just {watermark.column}."
        ) from None
    delay = delays[0] if len(delays) == 1 else sum_intervals(delays)
    if delay.microseconds < 0:
        raise UnsupportedSqlError(f"{context}: the delay INTERVAL {delay.sql} is negative. It must be zero or more.")
    return delay.sql


def _read_delays(node: exp.Expr, column: str, type: FlinkType, context: str) -> Iterator[Interval]:
    """Yield the intervals that an expression subtracts from the column."""
    match node:
        case exp.Column() if node.name == column:
            return
        case exp.Paren():
            yield from _read_delays(node.this, column, type, context)
        case exp.Cast() | exp.TryCast():
            target: FlinkType = node.args["to"]
            if target.name != type.name or target.precision < type.precision:
                raise _NotFixedError
            yield from _read_delays(node.this, column, type, context)
        case exp.Sub():
            yield from _read_delays(node.left, column, type, context)
            yield _read_interval(node.right, context)
        case exp.Add():
            time, interval = (node.left, node.right) if node.left.find(exp.Column) else (node.right, node.left)
            yield from _read_delays(time, column, type, context)
            yield _multiply(_read_interval(interval, context), -1)
        case exp.Anonymous() if node.name == "TIMESTAMPADD" and len(node.expressions) == 3:
            unit, number, time = node.expressions
            yield from _read_delays(time, column, type, context)
            yield _multiply(_unit_interval(unit.name, context), -_read_integer(number))
        case _:
            raise _NotFixedError


def _unit_interval(unit: str, context: str) -> Interval:
    if unit not in _UNITS:  # MONTH and others raise an error that says why
        return parse_fixed_interval(exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this=unit)), context)
    return Interval("", _UNITS[unit])


def _read_interval(node: exp.Expr, context: str) -> Interval:
    """Return the sum of the intervals of an expression of constants."""
    match node:
        case exp.Interval():
            return parse_fixed_interval(node, context)
        case exp.Paren():
            return _read_interval(node.this, context)
        case exp.Neg():
            return _multiply(_read_interval(node.this, context), -1)
        case exp.Add() | exp.Sub():
            right = _multiply(_read_interval(node.right, context), -1 if isinstance(node, exp.Sub) else 1)
            return sum_intervals([_read_interval(node.left, context), right])
        case exp.Mul():
            is_left = node.left.find(exp.Interval) is not None
            interval, number = (node.left, node.right) if is_left else (node.right, node.left)
            return _multiply(_read_interval(interval, context), _read_integer(number))
    raise _NotFixedError


def _multiply(interval: Interval, factor: int) -> Interval:
    return sum_intervals([Interval("", interval.microseconds * factor)])


def _read_integer(node: exp.Expr) -> int:
    match node:
        case exp.Literal() if not node.is_string and node.name.isdecimal() and len(node.name) < 10:
            return int(node.name)
        case exp.Neg():
            return -_read_integer(node.this)
        case exp.Paren():
            return _read_integer(node.this)
        case exp.Mul():
            return _read_integer(node.left) * _read_integer(node.right)
    raise _NotFixedError
