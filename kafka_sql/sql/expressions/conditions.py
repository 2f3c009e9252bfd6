"""Translate comparisons, and expressions that choose a value: CASE, IF, COALESCE, NULLIF, GREATEST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions.arithmetic import coerce
from kafka_sql.sql.expressions.binding import bind, bind2
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_count, check_argument_type, checked
from kafka_sql.sql.expressions.typed import (
    BOOLEAN,
    TIMESTAMPS,
    TypedExpression,
    UntranslatableError,
    common_type,
    describe_type,
    type_family,
    value_family,
)
from kafka_sql.sql.grammar.types import FlinkType

_INCOMPARABLE = ("row", "array", "map", "multiset", "variant", "interval")


def compare(operator: str, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Translate the comparison ``left operator right``.

    In Spark, NaN equals itself and is greater than all numbers. In Flink, comparisons with NaN are false, except for
    ``<>``, and ``x = x`` is always true.
    """
    common = common_type((left.type, right.type))
    if common is None or left.type is None or right.type is None:
        return TypedExpression(f"({left.sql} {operator} {right.sql})", BOOLEAN)
    if type_family(common) in _INCOMPARABLE:
        raise UntranslatableError(f"values of type {common.name} cannot be compared")
    a, b = coerce(left, common), coerce(right, common)
    if type_family(common) != "approximate" or a == b:
        return TypedExpression(f"({a} {operator} {b})", BOOLEAN)
    if operator == "<>":
        return TypedExpression(f"(NOT {compare('=', left, right).sql})", BOOLEAN)
    # If this operand is NaN, Spark's comparison may be true. NaN in the other one alone makes it false, as in Flink.
    operand = left if operator in ("=", ">", ">=") else right
    can_be_nan = operand.literal is None and value_family(operand) == "approximate"
    if not can_be_nan:
        return TypedExpression(f"({a} {operator} {b})", BOOLEAN)
    if operand is left:
        return TypedExpression(bind(a, lambda x: f"({x} {operator} {b} AND NOT isnan({x}))"), BOOLEAN)
    return TypedExpression(bind(b, lambda y: f"({a} {operator} {y} AND NOT isnan({y}))"), BOOLEAN)


def translate_distinct(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Translate ``left IS DISTINCT FROM right``."""
    common = common_type((left.type, right.type))
    if common is not None and type_family(common) in (*_INCOMPARABLE, "approximate"):
        if left.sql == right.sql:
            return TypedExpression("FALSE", BOOLEAN)
        raise UntranslatableError(f"IS [NOT] DISTINCT FROM is not supported for {common.name}")
    a, b = (coerce(v, common) if common is not None and v.type is not None else v.sql for v in (left, right))
    return TypedExpression(f"(NOT ({a} <=> {b}))", BOOLEAN)


def translate_in(value: TypedExpression, items: Sequence[TypedExpression]) -> TypedExpression:
    """Translate ``value IN (items)``."""
    common = common_type(item.type for item in (value, *items))
    if common is not None and type_family(common) == "approximate":
        return TypedExpression(f"({' OR '.join(compare('=', value, item).sql for item in items)})", BOOLEAN)
    if common is not None and type_family(common) in _INCOMPARABLE:
        raise UntranslatableError(f"values of type {common.name} cannot be compared")
    operands = [coerce(v, common) if common is not None and v.type is not None else v.sql for v in (value, *items)]
    return TypedExpression(f"({operands[0]} IN ({', '.join(operands[1:])}))", BOOLEAN)


def translate_between(
    value: TypedExpression, low: TypedExpression, high: TypedExpression, symmetric: bool
) -> TypedExpression:
    """Translate ``value BETWEEN [SYMMETRIC] low AND high``."""
    common_type((value.type, low.type, high.type))  # raises if the types have none in common
    text = f"({compare('>=', value, low).sql} AND {compare('<=', value, high).sql})"
    if symmetric:
        text = f"({text} OR {translate_between(value, high, low, symmetric=False).sql})"
    return TypedExpression(text, BOOLEAN)


_Period = tuple[TypedExpression, TypedExpression]


def translate_overlaps(left: _Period, right: _Period) -> TypedExpression:
    """Translate ``(a, b) OVERLAPS (c, d)``. The ends of each period are sorted first; touching periods overlap."""
    for value in (*left, *right):
        if value_family(value) not in (*TIMESTAMPS, "date", "null"):
            raise UntranslatableError(f"OVERLAPS requires dates or timestamps, but got {describe_type(value.type)}")
    if len({value_family(value) for value in (*left, *right)} - {"null"}) > 1:
        raise UntranslatableError("OVERLAPS requires four values of the same type; CAST them")

    def overlaps(a: str, b: str, c: str, d: str) -> str:
        first_end, second_end = f"if({a} <= {b}, {b}, {a})", f"if({c} <= {d}, {d}, {c})"
        return f"({first_end} >= if({c} <= {d}, {c}, {d}) AND {second_end} >= if({a} <= {b}, {a}, {b}))"

    return TypedExpression(
        bind2(
            left[0].sql, left[1].sql, lambda a, b: bind2(right[0].sql, right[1].sql, lambda c, d: overlaps(a, b, c, d))
        ),
        BOOLEAN,
    )


def build_case(conditions: Sequence[str], results: Sequence[TypedExpression]) -> TypedExpression:
    """Build a CASE expression from a result per condition and an optional last result for ELSE."""
    type, operands = unify(results)
    whens = " ".join(f"WHEN {condition} THEN {text}" for condition, text in zip(conditions, operands, strict=False))
    default = f" ELSE {operands[-1]}" if len(results) > len(conditions) else ""
    return TypedExpression(f"(CASE {whens}{default} END)", type)


def unify(values: Sequence[TypedExpression]) -> tuple[FlinkType | None, list[str]]:
    """Return the common type of the values, and the SQL of each value cast to it."""
    type = common_type(value.type for value in values)
    if type is None:
        return None, [value.sql for value in values]
    return type, [value.sql if value.type is None else coerce(value, type) for value in values]


def require_boolean(word: str, value: TypedExpression) -> TypedExpression:
    """Return the value if it is a BOOLEAN, or raise."""
    if value.type is not None and value.type.name != "BOOLEAN":
        raise UntranslatableError(f"{word} requires BOOLEAN, but got {describe_type(value.type)}")
    return value


def _coalesce(name: str, min_count: int, max_count: int) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        check_argument_count(name, arguments, min_count, max_count)
        type, operands = unify(arguments)
        return TypedExpression(f"coalesce({', '.join(operands)})", type)

    return function


@checked("NULLIF", "", "")
def _nullif(value: TypedExpression, null_value: TypedExpression) -> TypedExpression:
    if value.type is None:
        return value
    return TypedExpression(f"if({compare('=', value, null_value).sql}, NULL, {coerce(value, value.type)})", value.type)


@checked("IF", "", "", "")
def _if(condition: TypedExpression, *results: TypedExpression) -> TypedExpression:
    return build_case([require_boolean("IF", condition).sql], results)


def _greatest_or_least(name: str) -> Function:
    """Return the translation of GREATEST or LEAST. The result is NULL if any value is NULL."""

    def function(values: Sequence[TypedExpression]) -> TypedExpression:
        check_argument_count(name, values, 1, 999)
        type, operands = unify(values)
        if type is None or type_family(type) in _INCOMPARABLE:
            raise UntranslatableError(f"{name} requires comparable values, but got {describe_type(type)}")
        if type.name == "DECIMAL" and any(v.type != type for v in values):
            raise UntranslatableError(
                f"{name} of decimals of different types fails on NULL in Flink; CAST them to one type"
            )
        if len(operands) == 1:
            return TypedExpression(operands[0], type)
        is_any_null = " OR ".join(f"{v.sql} IS NULL" for v in values if v.literal is None)
        text = f"{name.lower()}({', '.join(operands)})"
        return TypedExpression(f"if({is_any_null}, NULL, {text})" if is_any_null else text, type)

    return function


def _elt(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("ELT", arguments, 2, 999)
    index, *values = arguments
    check_argument_type("ELT", index, "integer")
    if index.type is not None and index.type.name == "BIGINT":
        raise UntranslatableError("ELT requires an INT, but got BIGINT; CAST the index")
    for value in values:
        check_argument_type("ELT", value, "string", "binary")
    type, operands = unify(values)
    if type is None:
        raise UntranslatableError("ELT requires values with a type, but got NULL; CAST one of them")
    return TypedExpression(f"get(array({', '.join(operands)}), try_subtract({index.sql}, 1))", type)


FUNCTIONS: Final[dict[str, Function]] = {
    "COALESCE": _coalesce("COALESCE", 1, 999),
    "IFNULL": _coalesce("IFNULL", 2, 2),
    "NULLIF": _nullif,
    "IF": _if,
    "ELT": _elt,
    "GREATEST": _greatest_or_least("GREATEST"),
    "LEAST": _greatest_or_least("LEAST"),
}
