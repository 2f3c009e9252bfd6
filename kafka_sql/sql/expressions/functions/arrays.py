"""Translate functions of arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.arithmetic import coerce
from kafka_sql.sql.expressions.binding import bind, new_variable
from kafka_sql.sql.expressions.conditions import unify
from kafka_sql.sql.expressions.functions.signature import (
    Function,
    check_argument_count,
    check_argument_type,
    checked,
    require_integer_literal,
    require_string_literal,
)
from kafka_sql.sql.expressions.typed import (
    BOOLEAN,
    INT,
    STRING,
    TypedExpression,
    UntranslatableError,
    describe_type,
    type_family,
    value_family,
)
from kafka_sql.sql.grammar.types import FlinkType

_COMPARABLE: Final = ("integer", "decimal", "string", "boolean", "date", "timestamp", "timestamp_ltz")  # no NaN
STRING_ARRAY: Final = FlinkType("ARRAY", elements=(STRING,))


def _element_type(name: str, value: TypedExpression, *families: str) -> FlinkType:
    """Return the element type of an array, whose family must be one of ``families`` if they are given."""
    check_argument_type(name, value, "array")
    if value.type is None:
        raise UntranslatableError(f"{name} requires an ARRAY, but got NULL")
    element = value.type.elements[0]
    if families and type_family(element) not in families:
        raise UntranslatableError(f"{name} of {element.name} elements is not supported")
    return element


def _coerce_element(name: str, value: TypedExpression, element: FlinkType) -> str:
    if value.type is not None and value_family(value) != type_family(element):
        raise UntranslatableError(
            f"{name}: the elements are {describe_type(element)}, but got {describe_type(value.type)}; CAST it"
        )
    if value.type is not None and value_family(value) in ("integer", "decimal") and value.type != element:
        type, _ = unify([TypedExpression("", element), value])
        if type != element:
            raise UntranslatableError(
                f"{name}: {describe_type(value.type)} does not fit the elements, which are {describe_type(element)}; "
                "CAST it"
            )
    return coerce(value, element)


def _of_array(name: str, spark_name: str, *families: str, returns_element: bool = False) -> Function:
    """Return the translation of a function of one array that returns an array of the same type, or an element."""

    @checked(name, "")
    def function(array: TypedExpression) -> TypedExpression:
        element = _element_type(name, array, *families)
        return TypedExpression(f"{spark_name}({array.sql})", element if returns_element else array.type)

    return function


def _of_element(name: str, template: str, type: FlinkType | None = None, *families: str) -> Function:
    """Return the translation of a function of an array and an element.

    Args:
        template: SQL with the array, the element and a new variable. With ``<=>``, NULL is found like any other value.
        type: the type of the result; None for that of the array.
    """

    @checked(name, "", "")
    def function(array: TypedExpression, value: TypedExpression) -> TypedExpression:
        element = _coerce_element(name, value, _element_type(name, array, *families))
        variable = new_variable(array.sql + element)
        return TypedExpression(template.format(array.sql, element, variable), type or array.type)

    return function


def _of_arrays(name: str, spark_name: str) -> Function:
    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        check_argument_count(name, arguments, 1 if name == "ARRAY_CONCAT" else 2, 999 if name == "ARRAY_CONCAT" else 2)
        types = {_element_type(name, value, *_COMPARABLE) for value in arguments}
        if len({type.name for type in types}) > 1:
            raise UntranslatableError(f"{name} requires arrays of the same type; CAST their elements")
        nullable = [v.type for v in arguments if v.type is not None and v.type.elements[0].nullable]
        return TypedExpression(
            f"{spark_name}({', '.join(v.sql for v in arguments)})", nullable[0] if nullable else arguments[0].type
        )

    return function


def _sort(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("ARRAY_SORT", arguments, 1, 2)
    _element_type("ARRAY_SORT", arguments[0], *_COMPARABLE)
    order = arguments[1].sql if len(arguments) > 1 else "TRUE"
    if order not in ("TRUE", "FALSE"):
        raise UntranslatableError("ARRAY_SORT requires an order that is the literal TRUE or FALSE")
    return TypedExpression(f"sort_array({arguments[0].sql}, {order})", arguments[0].type)


def _slice(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("ARRAY_SLICE", arguments, 2, 3)
    _element_type("ARRAY_SLICE", arguments[0])
    start = require_integer_literal("ARRAY_SLICE", arguments[1], 1, "a start")
    end = 2**31 - 1  # with a larger length, Spark's slice overflows and is empty
    if len(arguments) > 2:
        end = require_integer_literal("ARRAY_SLICE", arguments[2], start, "an end")
    return TypedExpression(f"slice({arguments[0].sql}, {start}, {end - start + 1})", arguments[0].type)


@checked("SPLIT", "string", "")
def _split(value: TypedExpression, delimiter: TypedExpression) -> TypedExpression:
    regex = string_constant(re.sub(r"([^\w\s])", r"\\\1", require_string_literal("SPLIT", delimiter, "delimiter")))
    sql = bind(value.sql, lambda x: f"if({x} = '', array(), split({x}, {regex}))")
    return TypedExpression(sql, STRING_ARRAY)


FUNCTIONS: Final[dict[str, Function]] = {
    "ARRAY_CONTAINS": _of_element("ARRAY_CONTAINS", "exists({0}, {2} -> {2} <=> {1})", BOOLEAN, *_COMPARABLE),
    "ARRAY_REMOVE": _of_element("ARRAY_REMOVE", "filter({0}, {2} -> NOT ({2} <=> {1}))", None, *_COMPARABLE),
    "ARRAY_POSITION": _of_element("ARRAY_POSITION", "CAST(array_position({0}, {1}) AS INT)", INT, *_COMPARABLE),
    "ARRAY_DISTINCT": _of_array("ARRAY_DISTINCT", "array_distinct", *_COMPARABLE),
    "ARRAY_MAX": _of_array("ARRAY_MAX", "array_max", *_COMPARABLE, returns_element=True),
    "ARRAY_MIN": _of_array("ARRAY_MIN", "array_min", *_COMPARABLE, returns_element=True),
    "ARRAY_SORT": _sort,
    "ARRAY_SLICE": _slice,
    "ARRAY_CONCAT": _of_arrays("ARRAY_CONCAT", "concat"),
    "ARRAY_UNION": _of_arrays("ARRAY_UNION", "array_union"),
    "ARRAY_EXCEPT": _of_arrays("ARRAY_EXCEPT", "array_except"),
    "ARRAY_INTERSECT": _of_arrays("ARRAY_INTERSECT", "array_intersect"),
    "ARRAY_APPEND": _of_element("ARRAY_APPEND", "concat({0}, array({1}))"),
    "ARRAY_PREPEND": _of_element("ARRAY_PREPEND", "array_prepend({0}, {1})"),
    "SPLIT": _split,
}
