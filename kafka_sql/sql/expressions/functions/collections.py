"""Translate array, map and row constructors, element access and functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.arithmetic import coerce
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.conditions import unify
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_count, check_argument_type, checked
from kafka_sql.sql.expressions.typed import (
    INT,
    STRING,
    TypedExpression,
    UntranslatableError,
    describe_type,
    type_family,
    value_family,
)
from kafka_sql.sql.grammar.types import Field, FlinkType


def translate_element_access(collection: TypedExpression, index: TypedExpression) -> TypedExpression:
    """Translate ``array[n]`` (1-based, NULL beyond the end) or ``map[key]``."""
    if collection.type is None or value_family(collection) not in ("array", "map"):
        raise UntranslatableError(
            f"access by [...] requires an ARRAY or a MAP, but got {describe_type(collection.type)}"
        )
    if value_family(collection) == "map":
        key, value = collection.type.elements
        if index.type is not None and value_family(index) != type_family(key):
            raise UntranslatableError(
                f"the key of this MAP is {describe_type(key)}, but got {describe_type(index.type)}; CAST it"
            )
        return TypedExpression(f"try_element_at({collection.sql}, {coerce(index, key)})", value)
    check_argument_type("[...]", index, "integer")
    if not collection.type.elements[0].nullable:
        raise UntranslatableError(
            "access by [...] to NOT NULL elements returns an arbitrary value beyond the end in Flink; declare the "
            "elements without NOT NULL"
        )
    if isinstance(index.literal, int):
        if index.literal < 1:
            raise UntranslatableError(f"Array element access needs an index starting at 1 but was {index.literal}")
        return TypedExpression(f"get({collection.sql}, {index.literal - 1})", collection.type.elements[0])
    if index.type is not None and index.type.name == "BIGINT":
        raise UntranslatableError("access by [...] requires an INT, but got BIGINT; CAST the index")
    return TypedExpression(f"get({collection.sql}, try_subtract({index.sql}, 1))", collection.type.elements[0])


def _array(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("ARRAY[...]", arguments, 1, 9999)
    type, operands = unify(arguments)
    return TypedExpression(
        f"array({', '.join(operands)})", FlinkType("ARRAY", elements=(_require_type(type, "an element of ARRAY[...]"),))
    )


def _map(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("MAP[...]", arguments, 2, 9999)
    if len(arguments) % 2:
        raise UntranslatableError("MAP[...] requires pairs of a key and a value")
    (key, keys), (value, values) = unify(arguments[::2]), unify(arguments[1::2])
    pairs = ", ".join(f"{k}, {v}" for k, v in zip(keys, values, strict=True))
    elements = (_require_type(key, "a key of MAP[...]"), _require_type(value, "a value of MAP[...]"))
    return TypedExpression(f"map({pairs})", FlinkType("MAP", elements=elements))


def _require_type(type: FlinkType | None, what: str) -> FlinkType:
    if type is None:
        raise UntranslatableError(f"NULL has no type, but {what} needs one; CAST it")
    return type


def _row(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("ROW", arguments, 1, 9999)
    names = [f"EXPR${index}" for index in range(len(arguments))]  # Flink's names
    fields = [Field(n, _require_type(a.type, "a field of ROW")) for n, a in zip(names, arguments, strict=True)]
    pairs = ", ".join(f"{string_constant(n)}, {a.sql}" for n, a in zip(names, arguments, strict=True))
    return TypedExpression(f"named_struct({pairs})", FlinkType("ROW", fields=tuple(fields)))


@checked("CARDINALITY", "array|map|multiset")
def _cardinality(value: TypedExpression) -> TypedExpression:
    # Spark's size(NULL) depends on a setting.
    return TypedExpression(bind(value.sql, lambda x: f"if({x} IS NULL, NULL, size({x}))"), INT)


@checked("ELEMENT", "array")
def _element(value: TypedExpression) -> TypedExpression:
    if value.type is None or not value.type.elements[0].nullable:
        raise UntranslatableError("ELEMENT is not supported for arrays with NOT NULL elements")
    error = raise_error_sql("Array has more than one element.")
    return TypedExpression(
        bind(value.sql, lambda x: f"if(size({x}) > 1, {error}, get({x}, 0))"), value.type.elements[0]
    )


def _array_join(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("ARRAY_JOIN", arguments, 2, 3)
    value = arguments[0]
    if value.type is None or value.type.name != "ARRAY" or type_family(value.type.elements[0]) != "string":
        raise UntranslatableError(f"ARRAY_JOIN requires an array of strings, but got {describe_type(value.type)}")
    return TypedExpression(f"array_join({', '.join(a.sql for a in arguments)})", STRING)


@checked("ARRAY_REVERSE", "array")
def _array_reverse(value: TypedExpression) -> TypedExpression:
    return TypedExpression(f"reverse({value.sql})", value.type)


FUNCTIONS: Final[dict[str, Function]] = {
    "ARRAY[]": _array,
    "MAP[]": _map,
    "ROW": _row,
    "CARDINALITY": _cardinality,
    "ELEMENT": _element,
    "ARRAY_JOIN": _array_join,
    "ARRAY_REVERSE": _array_reverse,
}
