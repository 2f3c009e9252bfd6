"""Check function arguments, and build translations of simple functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_sql.catalog.source_catalog import SOURCE_CATALOG
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError, describe_type, value_family
from kafka_sql.sql.grammar.types import FlinkType

Function = Callable[[Sequence[TypedExpression]], TypedExpression]
_FAMILY_NAMES = {
    "string": "strings",
    "integer": "an INT or BIGINT",
    "boolean": "BOOLEAN",
    "binary": "BYTES",
    "array": "an ARRAY",
}


def check_argument_count(
    name: str, arguments: Sequence[TypedExpression], min_count: int, max_count: int | None = None
) -> None:
    """Check the number of arguments. If ``max_count`` is None, exactly ``min_count`` are expected."""
    max_count = min_count if max_count is None else max_count
    if not min_count <= len(arguments) <= max_count:
        if min_count == max_count:
            expected = str(min_count)
        else:
            expected = f"at least {min_count}" if max_count > 99 else f"{min_count} to {max_count}"
        noun = "argument" if expected in ("1", "at least 1") else "arguments"
        raise UntranslatableError(f"{name} requires {expected} {noun}, but got {len(arguments)}")


def check_argument_type(name: str, value: TypedExpression, *families: str) -> None:
    """Check the type family of an argument; NULL matches any family."""
    if value_family(value) not in (*families, "null"):
        expected = " or ".join(_FAMILY_NAMES.get(family, family.upper()) for family in families)
        raise UntranslatableError(f"{name} requires {expected}, but got {describe_type(value.type)}; CAST the argument")


def checked(
    name: str, *families: str, required: int | None = None
) -> Callable[[Callable[..., TypedExpression]], Function]:
    """Return a decorator that checks the arguments of a function before it is translated.

    Args:
        families: the type family of each argument, several separated by ``|``; empty if the translation checks it.
        required: the number of required arguments; default: all.
    """

    def decorate(translate: Callable[..., TypedExpression]) -> Function:
        def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
            check_argument_count(name, arguments, len(families) if required is None else required, len(families))
            for value, expected in zip(arguments, families, strict=False):
                if expected:
                    check_argument_type(name, value, *expected.split("|"))
            return translate(*arguments)

        return function

    return decorate


def simple_function(
    name: str, template: str, result: FlinkType, *families: str, min_count: int | None = None
) -> Function:
    """Return the translation of a function that exists in Spark, or that is a template such as ``f({0})``.

    Args:
        template: a Spark function name, or a template that uses each argument once.
        families: the type family of each argument.
        min_count: the number of required arguments; default: all.
    """

    @checked(name, *families, required=min_count)
    def function(*arguments: TypedExpression) -> TypedExpression:
        operands = [value.sql for value in arguments]
        sql = template.format(*operands) if "{" in template else f"{template}({', '.join(operands)})"
        return TypedExpression(sql, result)

    return function


def call_java(name: str, *arguments: str) -> str:
    """Return the call of a Java function: see ``io.github.kafkasql.functions.Functions``."""
    return f"{SOURCE_CATALOG}.{name.lower()}({', '.join(arguments)})"


def java_function(name: str, result: FlinkType, *families: str) -> Function:
    """Return the translation of a function of the same name in Java, with the type family of each argument."""

    @checked(name, *families)
    def function(*arguments: TypedExpression) -> TypedExpression:
        return TypedExpression(call_java(name, *(value.sql for value in arguments)), result)

    return function


def require_integer_literal(name: str, value: TypedExpression, minimum: int, what: str) -> int:
    """Return the value of an integer literal that is at least ``minimum``, or raise."""
    if not isinstance(value.literal, int) or value.literal < minimum:
        raise UntranslatableError(f"{name} requires {what} that is an integer literal of at least {minimum}")
    return value.literal


def require_string_literal(name: str, value: TypedExpression, what: str) -> str:
    """Return the value of a non-empty string literal, or raise."""
    if not isinstance(value.literal, str) or not value.literal:
        raise UntranslatableError(f"{name} requires a {what} that is a non-empty string literal")
    return value.literal
