"""What translations of functions have in common: checks of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError, describe, kind
from kafka_sql.sql.grammar.types import FlinkType

Function = Callable[[Sequence[TypedExpression]], TypedExpression]
_ARTICLES = {
    "string": "strings",
    "integer": "an INT or BIGINT",
    "boolean": "BOOLEAN",
    "binary": "BYTES",
    "array": "an ARRAY",
}


def count(name: str, arguments: Sequence[TypedExpression], least: int, most: int | None = None) -> None:
    """Check the number of arguments; ``most`` None is as many as ``least``."""
    most = least if most is None else most
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"at least {least}" if most > 99 else f"{least} to {most}"
        raise UntranslatableError(f"{name} takes {wanted} arguments and not {len(arguments)}")


def takes(name: str, value: TypedExpression, *kinds: str) -> None:
    """Check the family of an argument's type; NULL is of any."""
    if kind(value) not in (*kinds, "null"):
        wanted = " or ".join(_ARTICLES.get(k, k.upper()) for k in kinds)
        raise UntranslatableError(f"{name} takes {wanted} and not {describe(value.type)}; CAST the argument")


def of(name: str, template: str, result: FlinkType, *kinds: str, least: int | None = None) -> Function:
    """A function of the same meaning in both, or a template with ``{0}``; each argument once.

    Args:
        kinds: the family of each argument.
        least: how many of them are needed, by default all.
    """

    def function(arguments: Sequence[TypedExpression]) -> TypedExpression:
        count(name, arguments, len(kinds) if least is None else least, len(kinds))
        for value, wanted in zip(arguments, kinds, strict=False):
            takes(name, value, wanted)
        texts = [value.sql for value in arguments]
        return TypedExpression(
            template.format(*texts) if "{" in template else f"{template}({', '.join(texts)})", result
        )

    return function


def number(name: str, value: TypedExpression, least: int, why: str) -> int:
    """A whole number that is typed as such, from ``least`` on."""
    if not isinstance(value.literal, int) or value.literal < least:
        raise UntranslatableError(f"{name} is translated for {why} that is a literal from {least} on")
    return value.literal


def text(name: str, value: TypedExpression, what: str) -> str:
    """A text that is typed as such and not empty."""
    if not isinstance(value.literal, str) or not value.literal:
        raise UntranslatableError(f"{name} is translated for a {what} that is a literal and not empty")
    return value.literal
