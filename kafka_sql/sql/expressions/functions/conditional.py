"""Translate functions that choose between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions.arithmetic import coerce
from kafka_sql.sql.expressions.conditions import (
    build_case,
    compare,
    require_boolean,
    translate_greatest_or_least,
    unify,
)
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_count, check_argument_type, checked
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError


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
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        check_argument_count(name, arguments, 1, 999)
        return translate_greatest_or_least(name, arguments)

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
