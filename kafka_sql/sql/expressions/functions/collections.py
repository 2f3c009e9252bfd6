"""Arrays, maps and rows: access to them, and what makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions.arithmetic import coerced
from kafka_sql.sql.expressions.binding import bind, failure
from kafka_sql.sql.expressions.conditions import unified
from kafka_sql.sql.expressions.functions.signature import Function, count, takes
from kafka_sql.sql.expressions.typed import INT, STRING, TypedExpression, UntranslatableError, describe, kind
from kafka_sql.sql.grammar.types import Field, FlinkType


def element(collection: TypedExpression, index: TypedExpression) -> TypedExpression:
    """``array[n]`` from 1 on, NULL beyond the end, and ``map[key]``."""
    if collection.type is None or kind(collection) not in ("array", "map"):
        raise UntranslatableError(f"access by [...] needs an ARRAY or a MAP and not {describe(collection.type)}")
    if kind(collection) == "map":
        key, value = collection.type.elements
        if index.type is not None and kind(index) != kind(TypedExpression("", key)):
            raise UntranslatableError(f"the key of this MAP is {describe(key)} and not {describe(index.type)}; CAST it")
        return TypedExpression(f"try_element_at({collection.sql}, {coerced(index, key)})", value)
    takes("[...]", index, "integer")
    if not collection.type.elements[0].nullable:
        raise UntranslatableError(
            "access by [...] to elements that are NOT NULL gives a made-up value beyond the end in Flink; declare the "
            "elements without NOT NULL"
        )
    if isinstance(index.literal, int):
        if index.literal < 1:
            raise UntranslatableError(f"Array element access needs an index starting at 1 but was {index.literal}")
        return TypedExpression(f"get({collection.sql}, {index.literal - 1})", collection.type.elements[0])
    if index.type is not None and index.type.name == "BIGINT":
        raise UntranslatableError("access by [...] takes an INT and not BIGINT; CAST the index")
    return TypedExpression(f"get({collection.sql}, try_subtract({index.sql}, 1))", collection.type.elements[0])


def _array(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("ARRAY[...]", arguments, 1, 9999)
    type, texts = unified(arguments)
    return TypedExpression(f"array({', '.join(texts)})", FlinkType("ARRAY", elements=(_known(type, "ARRAY[...]"),)))


def _map(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("MAP[...]", arguments, 2, 9999)
    if len(arguments) % 2:
        raise UntranslatableError("MAP[...] takes pairs of a key and a value")
    (key, keys), (value, values) = unified(arguments[::2]), unified(arguments[1::2])
    pairs = ", ".join(f"{k}, {v}" for k, v in zip(keys, values, strict=True))
    elements = (_known(key, "the keys of MAP[...]"), _known(value, "the values of MAP[...]"))
    return TypedExpression(f"map({pairs})", FlinkType("MAP", elements=elements))


def _known(type: FlinkType | None, what: str) -> FlinkType:
    if type is None:
        raise UntranslatableError(f"{what} of NULL alone has no type; CAST one of them")
    return type


def _row(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("ROW", arguments, 1, 9999)
    names = [f"EXPR${at}" for at in range(len(arguments))]  # Flink's
    fields = [Field(n, _known(a.type, "a field of ROW")) for n, a in zip(names, arguments, strict=True)]
    pairs = ", ".join(f"{string_literal(n)}, {a.sql}" for n, a in zip(names, arguments, strict=True))
    return TypedExpression(f"named_struct({pairs})", FlinkType("ROW", fields=tuple(fields)))


def _cardinality(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("CARDINALITY", arguments, 1)
    takes("CARDINALITY", arguments[0], "array", "map", "multiset")
    # What the size of NULL is, a setting of Spark decides.
    return TypedExpression(bind(arguments[0].sql, lambda x: f"if({x} IS NULL, NULL, size({x}))"), INT)


def _element(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("ELEMENT", arguments, 1)
    value = arguments[0]
    takes("ELEMENT", value, "array")
    if value.type is None or not value.type.elements[0].nullable:
        raise UntranslatableError("ELEMENT is translated for arrays whose elements are not NOT NULL")
    error = failure("Array has more than one element.")
    return TypedExpression(
        bind(value.sql, lambda x: f"if(size({x}) > 1, {error}, get({x}, 0))"), value.type.elements[0]
    )


def _joined(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("ARRAY_JOIN", arguments, 2, 3)
    value = arguments[0]
    if (
        value.type is None
        or value.type.name != "ARRAY"
        or kind(TypedExpression("", value.type.elements[0])) != "string"
    ):
        raise UntranslatableError(f"ARRAY_JOIN takes an array of texts and not {describe(value.type)}")
    return TypedExpression(f"array_join({', '.join(a.sql for a in arguments)})", STRING)


def _reversed(arguments: Sequence[TypedExpression]) -> TypedExpression:
    count("ARRAY_REVERSE", arguments, 1)
    takes("ARRAY_REVERSE", arguments[0], "array")
    return TypedExpression(f"reverse({arguments[0].sql})", arguments[0].type)


FUNCTIONS: Final[dict[str, Function]] = {
    "ARRAY[]": _array,
    "MAP[]": _map,
    "ROW": _row,
    "CARDINALITY": _cardinality,
    "ELEMENT": _element,
    "ARRAY_JOIN": _joined,
    "ARRAY_REVERSE": _reversed,
}
