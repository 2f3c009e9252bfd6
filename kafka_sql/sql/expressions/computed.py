"""Computed columns: Flink's expressions in Spark's words.

An allow-list. What is not known to mean the same in both, or to have an exact translation, is refused by its name: a
computed column that is silently another number is worse than an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import SchemaError, UnsupportedSqlError, did_you_mean
from kafka_sql.sql.expressions.arithmetic import arithmetic, negative
from kafka_sql.sql.expressions.casts import cast
from kafka_sql.sql.expressions.conditions import among, between, branches, compare, distinct, truth
from kafka_sql.sql.expressions.constants import constant, literal, smallest, time
from kafka_sql.sql.expressions.functions.collections import element
from kafka_sql.sql.expressions.functions.datetime import ceil_to, floor_to
from kafka_sql.sql.expressions.functions.regex import like
from kafka_sql.sql.expressions.functions.table import call
from kafka_sql.sql.expressions.interval import DAY, Interval, span
from kafka_sql.sql.expressions.typed import BOOLEAN, TypedExpression, UntranslatableError, describe
from kafka_sql.sql.grammar.types import FlinkType

_NAMES: Final[dict[type[exp.Expr], str]] = {
    exp.Interval: "an INTERVAL stands only behind + or - after a timestamp or date",
    exp.SimilarTo: "SIMILAR TO has no translation; use REGEXP",
}


@dataclass(frozen=True)
class Context:
    """Where an expression stands."""

    column: str  # the computed column
    scope: Mapping[str, FlinkType]  # the columns that it may use: all but the computed ones


def translate_expression(node: exp.Expr, column: str, scope: Mapping[str, FlinkType]) -> TypedExpression:
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
    except UntranslatableError as e:
        end = "" if str(e).endswith("?") else "."
        raise UnsupportedSqlError(f"Computed column '{column}': {e}{end}") from e


def _translate(node: exp.Expr, context: Context) -> TypedExpression:
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise UntranslatableError(_NAMES.get(type(node), f"{type(node).__name__.upper()} has no translation"))
    return handler(node, context)


def _column(node: exp.Column, context: Context) -> TypedExpression:
    if node.name not in context.scope:
        near = did_you_mean(node.name, context.scope)
        raise SchemaError(
            f"Computed column '{context.column}': there is no column '{node.name}' that it can use. "
            f"A computed column uses physical and metadata columns, in the case they are declared in.{near}"
        )
    return TypedExpression(quote(node.name), context.scope[node.name])


def _field(node: exp.Dot, context: Context) -> TypedExpression:
    row, name = _translate(node.this, context), node.expression.name
    if row.type is None or row.type.name != "ROW":
        raise UntranslatableError(f"'.{name}' needs a ROW and not {describe(row.type)}")
    fields = {f.name: f.type for f in row.type.fields}
    if name not in fields:
        raise SchemaError(
            f"Computed column '{context.column}': {row.sql} has no field '{name}'.{did_you_mean(name, fields)}"
        )
    return TypedExpression(f"{row.sql}.{quote(name)}", fields[name])


def _literal(node: exp.Expr, _: Context) -> TypedExpression:
    return _LITERALS[type(node)](node)


def _parentheses(node: exp.Paren, context: Context) -> TypedExpression:
    return _translate(node.this, context)  # operators bring their own


def _negative(node: exp.Neg, context: Context) -> TypedExpression:
    return smallest(node.this) or negative(_translate(node.this, context))


def _arithmetic(node: exp.Binary, context: Context) -> TypedExpression:
    operator = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}[type(node)]
    if isinstance(node.right, exp.Interval) and operator in "+-":
        return _shift(_translate(node.left, context), operator, node.right, context)
    if isinstance(node.left, exp.Interval) and operator == "+":
        return _shift(_translate(node.right, context), operator, node.left, context)
    return arithmetic(operator, _translate(node.left, context), _translate(node.right, context))


def _shift(value: TypedExpression, operator: str, length: exp.Interval, context: Context) -> TypedExpression:
    by = span(length, f"Computed column '{context.column}'")
    name = value.type.name if value.type is not None else "NULL"
    if name == "DATE":
        return _shift_date(value, operator, by)
    if value.type is None or name not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        raise UntranslatableError(
            f"operator {operator} with an INTERVAL takes a timestamp and not {name}; CAST it to TIMESTAMP(3)"
        )
    if name == "TIMESTAMP_LTZ" and by.months:
        raise UntranslatableError(
            "TIMESTAMP_LTZ with months counts them in UTC in Flink; CAST it to TIMESTAMP(3) first"
        )
    if name == "TIMESTAMP_LTZ" and abs(by.microseconds) >= DAY:
        # Spark counts days by the calendar of the session's zone, Flink counts 24 hours.
        return TypedExpression(f"timestamp_micros(unix_micros({value.sql}) {operator} {by.microseconds})", value.type)
    return TypedExpression(f"({value.sql} {operator} INTERVAL {by.sql})", value.type)


def _shift_date(value: TypedExpression, operator: str, by: Interval) -> TypedExpression:
    sign = -1 if operator == "-" else 1
    if by.months:
        return TypedExpression(f"add_months({value.sql}, {sign * by.months})", value.type)
    if by.microseconds % DAY:
        raise UntranslatableError(
            f"operator {operator} with a DATE takes an INTERVAL of whole days; CAST it to TIMESTAMP(3)"
        )
    return TypedExpression(f"date_add({value.sql}, {sign * by.microseconds // DAY})", value.type)


def _comparison(node: exp.Binary, context: Context) -> TypedExpression:
    return compare(_COMPARISONS[type(node)], _translate(node.left, context), _translate(node.right, context))


def _distinct(node: exp.Binary, context: Context) -> TypedExpression:
    result = distinct(_translate(node.left, context), _translate(node.right, context))
    return TypedExpression(f"(NOT {result.sql})", BOOLEAN) if isinstance(node, exp.NullSafeEQ) else result


def _connective(node: exp.Binary, context: Context) -> TypedExpression:
    word = "AND" if isinstance(node, exp.And) else "OR"
    left, right = (truth(word, _translate(side, context)) for side in (node.left, node.right))
    return TypedExpression(f"({left.sql} {word} {right.sql})", BOOLEAN)


def _negation(node: exp.Not, context: Context) -> TypedExpression:
    value = truth("NOT", _translate(node.this, context))
    if "isnan(" in value.sql:
        raise UntranslatableError(
            "NOT of a comparison of FLOAT or DOUBLE is the opposite one in Flink, which NaN fails, too; write that"
        )
    return TypedExpression(f"(NOT {value.sql})", BOOLEAN)


def _is(node: exp.Is, context: Context) -> TypedExpression:
    word, value = node.expression.name, _translate(node.this, context)
    if word != "NULL":
        truth(f"IS {word}", value)
    return TypedExpression(f"({value.sql} IS {'NULL' if word == 'UNKNOWN' else word})", BOOLEAN)


def _in(node: exp.In, context: Context) -> TypedExpression:
    value, *items = (_translate(item, context) for item in (node.this, *node.expressions))
    if not items:
        raise UntranslatableError("IN needs at least one value")
    return among(value, items)


def _between(node: exp.Between, context: Context) -> TypedExpression:
    value, low, high = (_translate(node.args[key], context) for key in ("this", "low", "high"))
    return between(value, low, high, bool(node.args.get("symmetric")))


def _like(node: exp.Like, context: Context) -> TypedExpression:
    return like(_translate(node.this, context), _translate(node.expression, context), None)


def _like_escape(node: exp.Escape, context: Context) -> TypedExpression:
    value, pattern = _translate(node.this.this, context), _translate(node.this.expression, context)
    return like(value, pattern, _translate(node.expression, context))


def _concatenation(node: exp.DPipe, context: Context) -> TypedExpression:
    return call("CONCAT", [_translate(node.left, context), _translate(node.right, context)])


def _access(node: exp.Bracket, context: Context) -> TypedExpression:
    return element(_translate(node.this, context), _translate(node.expressions[0], context))


def _case(node: exp.Case, context: Context) -> TypedExpression:
    subject = _translate(node.this, context) if node.this is not None else None
    tests, results = [], []
    for branch in node.args["ifs"]:
        test = _translate(branch.this, context)
        tests.append(truth("WHEN", test).sql if subject is None else compare("=", subject, test).sql)
        results.append(_translate(branch.args["true"], context))
    if (default := node.args.get("default")) is not None:
        results.append(_translate(default, context))
    return branches(tests, results)


def _cast(node: exp.Cast, context: Context) -> TypedExpression:
    return cast(_translate(node.this, context), node.args["to"], context.column, isinstance(node, exp.TryCast))


def _function(node: exp.Anonymous, context: Context) -> TypedExpression:
    arguments = [
        TypedExpression(argument.name, None) if isinstance(argument, exp.Var) else _translate(argument, context)
        for argument in node.expressions
    ]
    if node.name in ("FLOOR TO", "CEIL TO"):
        return (floor_to if node.name == "FLOOR TO" else ceil_to)(arguments[0], arguments[1].sql)
    return call(node.name, arguments)


_LITERALS: Final[dict[type[exp.Expr], Callable[[Any], TypedExpression]]] = {
    exp.Literal: literal,
    exp.Introducer: time,
    exp.Null: constant,
    exp.Boolean: constant,
}
_COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_HANDLERS: Final[dict[type[exp.Expr], Callable[[Any, Context], TypedExpression]]] = {
    exp.Column: _column,
    exp.Dot: _field,
    **dict.fromkeys(_LITERALS, _literal),
    exp.Paren: _parentheses,
    exp.Neg: _negative,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), _arithmetic),
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys((exp.And, exp.Or), _connective),
    exp.Not: _negation,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Escape: _like_escape,
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
    exp.Bracket: _access,
    exp.DPipe: _concatenation,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Anonymous: _function,
}
