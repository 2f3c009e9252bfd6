"""Translate the expressions of computed columns from Flink to Spark SQL.

This is an allow-list. Anything without an exact equivalent in Spark is rejected by name, because a computed column with
a silently different value is worse than an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import SchemaError, UnsupportedSqlError
from kafka_sql.sql.expressions.arithmetic import negate, translate_arithmetic
from kafka_sql.sql.expressions.casts import translate_cast
from kafka_sql.sql.expressions.conditions import (
    build_case,
    compare,
    require_boolean,
    translate_between,
    translate_distinct,
    translate_in,
    translate_overlaps,
)
from kafka_sql.sql.expressions.constants import (
    translate_constant,
    translate_datetime_literal,
    translate_literal,
    translate_smallest_integer,
)
from kafka_sql.sql.expressions.functions.collections import translate_element_access
from kafka_sql.sql.expressions.functions.datetime import translate_ceil, translate_floor
from kafka_sql.sql.expressions.functions.function_table import is_flink_function, translate_call
from kafka_sql.sql.expressions.functions.json import (
    Behavior,
    Member,
    translate_json_array,
    translate_json_exists,
    translate_json_object,
    translate_json_query,
    translate_json_value,
)
from kafka_sql.sql.expressions.functions.regex import translate_like, translate_similar
from kafka_sql.sql.expressions.interval import DAY, Interval, parse_interval
from kafka_sql.sql.expressions.typed import BOOLEAN, TypedExpression, UntranslatableError, describe_type
from kafka_sql.sql.grammar.call_parser import JsonBehavior, JsonCall, JsonConstructor
from kafka_sql.sql.grammar.types import FlinkType
from kafka_sql.suggestions import did_you_mean

_UNSUPPORTED: Final[dict[type[exp.Expr], str]] = {
    exp.Interval: "an INTERVAL is supported only as an operand of + or - with a timestamp or date",
    exp.Tuple: "a pair is supported only as an operand of OVERLAPS",
}


@dataclass(frozen=True)
class SparkExpressions:
    """What the Spark session knows about expressions, which this package, without a session, cannot.

    Attributes:
        find_function: returns the name in SQL of a function that was registered or created by a user, or None. The
            argument is the name as it is called.
        type_of: returns the type of a Spark SQL expression over columns of the given types. It raises
            UntranslatableError if Spark cannot evaluate the expression.
    """

    find_function: Callable[[str], str | None]
    type_of: Callable[[str, Mapping[str, FlinkType]], FlinkType]


@dataclass(frozen=True)
class Context:
    """The computed column that an expression belongs to."""

    column: str  # the name of the computed column
    column_types: Mapping[str, FlinkType]  # of the physical and metadata columns, which it may use
    expressions: SparkExpressions | None = None  # the session's functions


def translate_expression(
    node: exp.Expr, column: str, column_types: Mapping[str, FlinkType], expressions: SparkExpressions | None = None
) -> TypedExpression:
    """Translate the expression of a computed column to Spark SQL.

    Args:
        column: the name of the computed column, for error messages.
        column_types: types of the table's physical and metadata columns by name (case-sensitive, as in Flink).
        expressions: the session's functions; without them, only Flink's functions are known.

    Raises:
        UnsupportedSqlError: a function, operator or combination of types without an exact equivalent.
        SchemaError: a column or field that does not exist, or an unsupported type.
    """
    try:
        return _translate(node, Context(column, column_types, expressions))
    except UntranslatableError as e:
        end = "" if str(e).endswith("?") else "."
        raise UnsupportedSqlError(f"Computed column '{column}': {e}{end}") from e


def _translate(node: exp.Expr, context: Context) -> TypedExpression:
    translator = _TRANSLATORS.get(type(node))
    if translator is None:
        raise UntranslatableError(_UNSUPPORTED.get(type(node), f"{type(node).__name__.upper()} is not supported"))
    return translator(node, context)


def _translate_column(node: exp.Column, context: Context) -> TypedExpression:
    if node.name not in context.column_types:
        suggestion = did_you_mean(node.name, context.column_types)
        raise SchemaError(
            f"Computed column '{context.column}': column '{node.name}' not found. "
            f"A computed column can use physical and metadata columns; names are case-sensitive.{suggestion}",
            column=context.column,
        )
    return TypedExpression(quote(node.name), context.column_types[node.name])


def _translate_field(node: exp.Dot, context: Context) -> TypedExpression:
    row, name = _translate(node.this, context), node.expression.name
    if row.type is None or row.type.name != "ROW":
        raise UntranslatableError(f"'.{name}' requires a ROW, but got {describe_type(row.type)}")
    fields = {f.name: f.type for f in row.type.fields}
    if name not in fields:
        raise SchemaError(
            f"Computed column '{context.column}': {row.sql} has no field '{name}'.{did_you_mean(name, fields)}",
            column=context.column,
        )
    return TypedExpression(f"{row.sql}.{quote(name)}", fields[name])


def _translate_literal(node: exp.Expr, _: Context) -> TypedExpression:
    return _LITERALS[type(node)](node)


def _translate_parentheses(node: exp.Paren, context: Context) -> TypedExpression:
    return _translate(node.this, context)  # translated operators have their own parentheses


def _translate_negative(node: exp.Neg, context: Context) -> TypedExpression:
    return translate_smallest_integer(node.this) or negate(_translate(node.this, context))


def _translate_arithmetic(node: exp.Binary, context: Context) -> TypedExpression:
    operator = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}[type(node)]
    if isinstance(node.right, exp.Interval) and operator in "+-":
        return _shift_timestamp(_translate(node.left, context), operator, node.right, context)
    if isinstance(node.left, exp.Interval) and operator == "+":
        return _shift_timestamp(_translate(node.right, context), operator, node.left, context)
    return translate_arithmetic(operator, _translate(node.left, context), _translate(node.right, context))


def _shift_timestamp(value: TypedExpression, operator: str, literal: exp.Interval, context: Context) -> TypedExpression:
    interval = parse_interval(literal, f"Computed column '{context.column}'")
    name = value.type.name if value.type is not None else "NULL"
    if name == "DATE":
        return _shift_date(value, operator, interval)
    if value.type is None or name not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        raise UntranslatableError(
            f"operator {operator} with an INTERVAL requires a timestamp, but got {name}; CAST it to TIMESTAMP(3)"
        )
    if name == "TIMESTAMP_LTZ" and interval.months:
        raise UntranslatableError("months are added to TIMESTAMP_LTZ in UTC in Flink; CAST it to TIMESTAMP(3) first")
    if name == "TIMESTAMP_LTZ" and abs(interval.microseconds) >= DAY:
        # A day is a calendar day of the session time zone in Spark, but 24 hours in Flink.
        return TypedExpression(
            f"timestamp_micros(unix_micros({value.sql}) {operator} {interval.microseconds})", value.type
        )
    return TypedExpression(f"({value.sql} {operator} INTERVAL {interval.sql})", value.type)


def _shift_date(value: TypedExpression, operator: str, interval: Interval) -> TypedExpression:
    sign = -1 if operator == "-" else 1
    if interval.months:
        return TypedExpression(f"add_months({value.sql}, {sign * interval.months})", value.type)
    if interval.microseconds % DAY:
        raise UntranslatableError(
            f"operator {operator} with a DATE requires an INTERVAL of full days; CAST it to TIMESTAMP(3)"
        )
    return TypedExpression(f"date_add({value.sql}, {sign * interval.microseconds // DAY})", value.type)


def _translate_comparison(node: exp.Binary, context: Context) -> TypedExpression:
    return compare(_COMPARISONS[type(node)], _translate(node.left, context), _translate(node.right, context))


def _translate_distinct(node: exp.Binary, context: Context) -> TypedExpression:
    result = translate_distinct(_translate(node.left, context), _translate(node.right, context))
    return TypedExpression(f"(NOT {result.sql})", BOOLEAN) if isinstance(node, exp.NullSafeEQ) else result


def _translate_and_or(node: exp.Binary, context: Context) -> TypedExpression:
    word = "AND" if isinstance(node, exp.And) else "OR"
    left, right = (require_boolean(word, _translate(side, context)) for side in (node.left, node.right))
    return TypedExpression(f"({left.sql} {word} {right.sql})", BOOLEAN)


def _translate_not(node: exp.Not, context: Context) -> TypedExpression:
    value = require_boolean("NOT", _translate(node.this, context))
    if "isnan(" in value.sql:
        raise UntranslatableError(
            "NOT of a FLOAT or DOUBLE comparison treats NaN differently in Flink; write the opposite comparison"
        )
    return TypedExpression(f"(NOT {value.sql})", BOOLEAN)


def _translate_is(node: exp.Is, context: Context) -> TypedExpression:
    word, value = node.expression.name, _translate(node.this, context)
    if word != "NULL":
        require_boolean(f"IS {word}", value)
    return TypedExpression(f"({value.sql} IS {'NULL' if word == 'UNKNOWN' else word})", BOOLEAN)


def _translate_in(node: exp.In, context: Context) -> TypedExpression:
    value, *items = (_translate(item, context) for item in (node.this, *node.expressions))
    if not items:
        raise UntranslatableError("IN needs at least one value")
    return translate_in(value, items)


def _translate_between(node: exp.Between, context: Context) -> TypedExpression:
    value, low, high = (_translate(node.args[key], context) for key in ("this", "low", "high"))
    return translate_between(value, low, high, bool(node.args.get("symmetric")))


def _translate_like(node: exp.Like, context: Context) -> TypedExpression:
    return translate_like(_translate(node.this, context), _translate(node.expression, context), None)


def _translate_escape(node: exp.Escape, context: Context) -> TypedExpression:
    value, pattern = _translate(node.this.this, context), _translate(node.this.expression, context)
    translator = translate_like if isinstance(node.this, exp.Like) else translate_similar
    return translator(value, pattern, _translate(node.expression, context))


def _translate_similar(node: exp.SimilarTo, context: Context) -> TypedExpression:
    return translate_similar(_translate(node.this, context), _translate(node.expression, context), None)


def _translate_overlaps(node: exp.Overlaps, context: Context) -> TypedExpression:
    return translate_overlaps(_translate_period(node.left, context), _translate_period(node.right, context))


def _translate_period(node: exp.Expr, context: Context) -> tuple[TypedExpression, TypedExpression]:
    """Return both ends of ``(start, end)`` or ``(start, length)``."""
    if not isinstance(node, exp.Tuple):
        raise UntranslatableError("OVERLAPS requires pairs such as (start_time, end_time)")
    start, end = node.expressions
    first = _translate(start, context)
    if isinstance(end, exp.Interval):
        return first, _shift_timestamp(first, "+", end, context)
    return first, _translate(end, context)


def _translate_concatenation(node: exp.DPipe, context: Context) -> TypedExpression:
    return translate_call("CONCAT", [_translate(node.left, context), _translate(node.right, context)])


def _translate_access(node: exp.Bracket, context: Context) -> TypedExpression:
    return translate_element_access(_translate(node.this, context), _translate(node.expressions[0], context))


def _translate_case(node: exp.Case, context: Context) -> TypedExpression:
    subject = _translate(node.this, context) if node.this is not None else None
    conditions, results = [], []
    for branch in node.args["ifs"]:
        condition = _translate(branch.this, context)
        conditions.append(
            require_boolean("WHEN", condition).sql if subject is None else compare("=", subject, condition).sql
        )
        results.append(_translate(branch.args["true"], context))
    if (default := node.args.get("default")) is not None:
        results.append(_translate(default, context))
    return build_case(conditions, results)


def _translate_cast(node: exp.Cast, context: Context) -> TypedExpression:
    return translate_cast(
        _translate(node.this, context), node.args["to"], context.column, isinstance(node, exp.TryCast)
    )


def _translate_function(node: exp.Anonymous, context: Context) -> TypedExpression:
    arguments = [
        TypedExpression(argument.name, None) if isinstance(argument, exp.Var) else _translate(argument, context)
        for argument in node.expressions
    ]
    function = None
    if context.expressions is not None and not is_flink_function(node.name):
        function = context.expressions.find_function(node.name)
    if context.expressions is None or function is None:
        return translate_call(node.name, arguments)
    sql = f"{function}({', '.join(argument.sql for argument in arguments)})"
    return TypedExpression(sql, context.expressions.type_of(sql, context.column_types))


def _translate_rounding(node: exp.Floor | exp.Ceil, context: Context) -> TypedExpression:
    translate = translate_floor if isinstance(node, exp.Floor) else translate_ceil
    return translate(_translate(node.this, context), node.args["to"].name)


def _translate_json_call(node: JsonCall, context: Context) -> TypedExpression:
    value, path = _translate(node.this, context), _translate(node.args["path"], context)
    on_empty, on_error = (_translate_behavior(node.args.get(key), context) for key in ("on_empty", "on_error"))
    returning = node.args.get("returning")
    match node.args["function"]:
        case "JSON_VALUE":
            return translate_json_value(value, path, returning, on_empty, on_error)
        case "JSON_QUERY":
            return translate_json_query(value, path, returning, node.args.get("wrapper"), on_empty, on_error)
    return translate_json_exists(value, path, on_error)


def _translate_behavior(node: JsonBehavior | None, context: Context) -> Behavior:
    if node is None:
        return Behavior()
    default = node.args.get("default")
    return Behavior(node.this, _translate(default, context) if default is not None else None)


def _translate_json_constructor(node: JsonConstructor, context: Context) -> TypedExpression:
    members = []
    for member in node.expressions:
        key = member.args.get("key")
        key = _translate(key, context) if key is not None else None
        members.append(Member(key, member.args["kind"], _translate(member.this, context)))
    translate = translate_json_object if node.args["function"] == "JSON_OBJECT" else translate_json_array
    return translate(members, node.args["is_absent_on_null"])


_LITERALS: Final[dict[type[exp.Expr], Callable[[Any], TypedExpression]]] = {
    exp.Literal: translate_literal,
    exp.Introducer: translate_datetime_literal,
    exp.Null: translate_constant,
    exp.Boolean: translate_constant,
}
_COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TRANSLATORS: Final[dict[type[exp.Expr], Callable[[Any, Context], TypedExpression]]] = {
    exp.Column: _translate_column,
    exp.Dot: _translate_field,
    **dict.fromkeys(_LITERALS, _translate_literal),
    exp.Paren: _translate_parentheses,
    exp.Neg: _translate_negative,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), _translate_arithmetic),
    **dict.fromkeys(_COMPARISONS, _translate_comparison),
    **dict.fromkeys((exp.And, exp.Or), _translate_and_or),
    exp.Not: _translate_not,
    exp.Is: _translate_is,
    exp.In: _translate_in,
    exp.Between: _translate_between,
    exp.Like: _translate_like,
    exp.Escape: _translate_escape,
    exp.SimilarTo: _translate_similar,
    exp.Overlaps: _translate_overlaps,
    exp.NullSafeEQ: _translate_distinct,
    exp.NullSafeNEQ: _translate_distinct,
    exp.Bracket: _translate_access,
    exp.DPipe: _translate_concatenation,
    exp.Case: _translate_case,
    exp.Cast: _translate_cast,
    exp.TryCast: _translate_cast,
    exp.Anonymous: _translate_function,
    **dict.fromkeys((exp.Floor, exp.Ceil), _translate_rounding),
    JsonCall: _translate_json_call,
    JsonConstructor: _translate_json_constructor,
}
