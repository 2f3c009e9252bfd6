"""Computed columns: Flink's expressions in Spark's words.

An allow-list. What is not known to mean the same in both, or to have an exact translation, is refused by its name: a
computed column that is silently another number is worse than an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from kafka_sql.catalog.literals import quote, string
from kafka_sql.errors import SchemaError, UnsupportedSqlError, did_you_mean
from kafka_sql.sql.casts import cast
from kafka_sql.sql.functions import call
from kafka_sql.sql.interval import DAY, interval
from kafka_sql.sql.typed import (
    BOOLEAN,
    NUMERIC,
    STRING,
    NoCommonMeaning,
    Typed,
    common,
    describe,
    family,
    numeric,
)
from kafka_sql.sql.types import FlinkType

_NAMES: Final = {
    exp.Div: "operator / has no translation: whole numbers stay whole in Flink only. Divide in the query",
    exp.Mod: "operator % has no translation: its type, and so what overflows, differs between Flink and Spark",
    exp.Bracket: "access by [...] has no translation: arrays count from 1 in Flink and from 0 in Spark",
    exp.Escape: "LIKE ... ESCAPE has no translation",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM has no translation yet",
    exp.NullSafeNEQ: "IS DISTINCT FROM has no translation yet",
    exp.Interval: "an INTERVAL stands only behind + or - after a timestamp",
}


@dataclass(frozen=True)
class Context:
    """Where an expression stands."""

    column: str  # the computed column
    scope: Mapping[str, FlinkType]  # the columns that it may use: all but the computed ones


def translate(node: exp.Expr, column: str, scope: Mapping[str, FlinkType]) -> Typed:
    """A computed column's expression in Spark SQL, and its type.

    Args:
        column: the computed column's name, for errors.
        scope: the table's physical and metadata columns by name, as Flink resolves them, in their case.

    Raises:
        UnsupportedSqlError: a function, operator or combination of types without an exact counterpart, by its name.
        SchemaError: a column or field that does not exist, or a type that Spark cannot carry.
    """
    try:
        return _translate(node, Context(column, scope))
    except NoCommonMeaning as e:
        end = "" if str(e).endswith("?") else "."
        raise UnsupportedSqlError(f"Computed column '{column}': {e}{end}") from e


def _translate(node: exp.Expr, context: Context) -> Typed:
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise NoCommonMeaning(_NAMES.get(type(node), f"{type(node).__name__.upper()} has no translation"))
    return handler(node, context)


def _column(node: exp.Column, context: Context) -> Typed:
    if node.name not in context.scope:
        near = did_you_mean(node.name, context.scope)
        raise SchemaError(
            f"Computed column '{context.column}': there is no column '{node.name}' that it can use. "
            f"A computed column uses physical and metadata columns, in the case they are declared in.{near}"
        )
    return Typed(quote(node.name), context.scope[node.name])


def _field(node: exp.Dot, context: Context) -> Typed:
    row, name = _translate(node.this, context), node.expression.name
    if row.type is None or row.type.name != "ROW":
        raise NoCommonMeaning(f"'.{name}' needs a ROW and not {describe(row.type)}")
    fields = {f.name: f.type for f in row.type.fields}
    if name not in fields:
        raise SchemaError(
            f"Computed column '{context.column}': {row.sql} has no field '{name}'.{did_you_mean(name, fields)}"
        )
    return Typed(f"{row.sql}.{quote(name)}", fields[name])


def _literal(node: exp.Literal, _: Context) -> Typed:
    text = node.name
    if node.is_string:
        return Typed(string(text), STRING)
    if "e" in text.lower():
        return Typed(text, FlinkType("DOUBLE"))
    whole, dot, fraction = text.partition(".")
    if not dot:
        if int(text) >= 2**63:
            raise NoCommonMeaning(f"{text} does not fit a BIGINT")
        return Typed(text, FlinkType("INT" if int(text) < 2**31 else "BIGINT"))
    digits = len(whole.lstrip("0")) + len(fraction)
    return Typed(text, FlinkType("DECIMAL", (max(digits, 1), len(fraction))))


def _typed_literal(node: exp.Introducer, context: Context) -> Typed:
    name = node.name
    if name == "TIME":
        raise NoCommonMeaning("the TIME literal has no translation")
    to = FlinkType(name, () if name == "DATE" else (6,))
    return cast(Typed(string(node.expression.name), STRING), to, context.column, attempt=False)


def _constant(node: exp.Expr, _: Context) -> Typed:
    if isinstance(node, exp.Null):
        return Typed("NULL", None)
    return Typed("TRUE" if node.this else "FALSE", BOOLEAN)


def _parentheses(node: exp.Paren, context: Context) -> Typed:
    return _translate(node.this, context)  # operators bring their own


def _negative(node: exp.Neg, context: Context) -> Typed:
    value = _number("-", _translate(node.this, context))
    return Typed(f"(- {value.sql})", value.type)


def _number(operator: str, value: Typed) -> Typed:
    if value.type is not None and family(value.type) not in NUMERIC:
        raise NoCommonMeaning(f"operator {operator} takes numbers and not {describe(value.type)}")
    return value


def _arithmetic(node: exp.Binary, context: Context) -> Typed:
    operator = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}[type(node)]
    if isinstance(node.right, exp.Interval) and operator != "*":
        return _shift(_translate(node.left, context), operator, node.right, context)
    if isinstance(node.left, exp.Interval) and operator == "+":
        return _shift(_translate(node.right, context), operator, node.left, context)
    left, right = (_number(operator, _translate(side, context)) for side in (node.left, node.right))
    result = left.type or right.type
    if left.type is not None and right.type is not None:
        result = numeric(left.type, right.type, "*" if operator == "*" else "+")
    return Typed(f"({left.sql} {operator} {right.sql})", result)


def _shift(value: Typed, operator: str, length: exp.Interval, context: Context) -> Typed:
    by = interval(length, f"Computed column '{context.column}'")
    name = value.type.name if value.type is not None else "NULL"
    if value.type is None or name not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        raise NoCommonMeaning(
            f"operator {operator} with an INTERVAL takes a timestamp and not {name}; CAST it to TIMESTAMP(3)"
        )
    if name == "TIMESTAMP_LTZ" and abs(by.microseconds) >= DAY:
        # Spark counts days by the calendar of the session's zone, Flink counts 24 hours.
        return Typed(f"timestamp_micros(unix_micros({value.sql}) {operator} {by.microseconds})", value.type)
    return Typed(f"({value.sql} {operator} INTERVAL {by.sql})", value.type)


def _comparison(node: exp.Binary, context: Context) -> Typed:
    left, right = _translate(node.left, context), _translate(node.right, context)
    common((left.type, right.type))
    return Typed(f"({left.sql} {_COMPARISONS[type(node)]} {right.sql})", BOOLEAN)


def _connective(node: exp.Binary, context: Context) -> Typed:
    word = "AND" if isinstance(node, exp.And) else "OR"
    left, right = (_truth(word, _translate(side, context)) for side in (node.left, node.right))
    return Typed(f"({left.sql} {word} {right.sql})", BOOLEAN)


def _negation(node: exp.Not, context: Context) -> Typed:
    return Typed(f"(NOT {_truth('NOT', _translate(node.this, context)).sql})", BOOLEAN)


def _truth(word: str, value: Typed) -> Typed:
    if value.type is not None and value.type.name != "BOOLEAN":
        raise NoCommonMeaning(f"{word} takes BOOLEAN and not {describe(value.type)}")
    return value


def _is(node: exp.Is, context: Context) -> Typed:
    if node.expression.name != "NULL":
        raise NoCommonMeaning(f"IS [NOT] {node.expression.name} has no translation yet")
    return Typed(f"({_translate(node.this, context).sql} IS NULL)", BOOLEAN)


def _in(node: exp.In, context: Context) -> Typed:
    value, *items = (_translate(item, context) for item in (node.this, *node.expressions))
    if not items:
        raise NoCommonMeaning("IN needs at least one value")
    common(item.type for item in (value, *items))
    return Typed(f"({value.sql} IN ({', '.join(item.sql for item in items)}))", BOOLEAN)


def _between(node: exp.Between, context: Context) -> Typed:
    value, low, high = (_translate(node.args[key], context) for key in ("this", "low", "high"))
    common((value.type, low.type, high.type))
    return Typed(f"({value.sql} BETWEEN {low.sql} AND {high.sql})", BOOLEAN)


def _like(node: exp.Like, context: Context) -> Typed:
    value, pattern = _translate(node.this, context), node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string) or "\\" in pattern.name:
        raise NoCommonMeaning(
            "LIKE needs a pattern that is a literal without backslashes, which Spark takes for escapes"
        )
    common((value.type, STRING))
    return Typed(f"({value.sql} LIKE {string(pattern.name)})", BOOLEAN)


def _concatenation(node: exp.DPipe, context: Context) -> Typed:
    return call("CONCAT", [_translate(node.left, context), _translate(node.right, context)])


def _case(node: exp.Case, context: Context) -> Typed:
    subject = _translate(node.this, context) if node.this is not None else None
    parts, tests, results = [], [], []
    for branch in node.args["ifs"]:
        test, result = _translate(branch.this, context), _translate(branch.args["true"], context)
        tests.append(test if subject is not None else _truth("WHEN", test))
        results.append(result)
        parts.append(f"WHEN {test.sql} THEN {result.sql}")
    if subject is not None:
        common(test.type for test in (subject, *tests))
    if (default := node.args.get("default")) is not None:
        results.append(_translate(default, context))
        parts.append(f"ELSE {results[-1].sql}")
    head = "CASE" if subject is None else f"CASE {subject.sql}"
    return Typed(f"({head} {' '.join(parts)} END)", common(result.type for result in results))


def _cast(node: exp.Cast, context: Context) -> Typed:
    return cast(_translate(node.this, context), node.args["to"], context.column, isinstance(node, exp.TryCast))


def _function(node: exp.Anonymous, context: Context) -> Typed:
    return call(node.name, [_translate(argument, context) for argument in node.expressions])


_COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_HANDLERS: Final[dict[type[exp.Expr], Callable[[Any, Context], Typed]]] = {
    exp.Column: _column,
    exp.Dot: _field,
    exp.Literal: _literal,
    exp.Introducer: _typed_literal,
    exp.Null: _constant,
    exp.Boolean: _constant,
    exp.Paren: _parentheses,
    exp.Neg: _negative,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys((exp.And, exp.Or), _connective),
    exp.Not: _negation,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.DPipe: _concatenation,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Anonymous: _function,
}
