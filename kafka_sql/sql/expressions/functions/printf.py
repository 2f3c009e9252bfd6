"""Translate PRINTF. Flink and Spark format with ``java.util.Formatter`` in English.

Flink returns NULL if the format does not fit the values, where Spark fails, so the format is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.casts import translate_cast
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_count, require_string_literal
from kafka_sql.sql.expressions.typed import STRING, TypedExpression, UntranslatableError, describe_type, value_family

_SPECIFIER: Final = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(\.\d+)?(.?)", re.DOTALL)
_FAMILIES: Final = {
    **dict.fromkeys("sS", ("string", "integer", "boolean", "decimal", "approximate")),
    **dict.fromkeys("bB", ("string", "integer", "boolean", "decimal", "approximate")),
    **dict.fromkeys("doxX", ("integer",)),
    **dict.fromkeys("eEfgG", ("approximate",)),
}
_NAMES: Final = {"integer": "an integer", "approximate": "a DOUBLE", "string": "a string"}


def _printf(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("PRINTF", arguments, 1, 100)
    pattern = require_string_literal("PRINTF", arguments[0], "format")
    values = arguments[1:]
    position = 0
    for match in _SPECIFIER.finditer(pattern):
        index, flags, width, precision, conversion = match.groups()
        _check_flags(match[0], flags, width, precision, conversion)
        if conversion in "%n":
            continue
        if index is None:
            position += 1
        number = position if index is None else int(index)
        if not 1 <= number <= len(values):
            raise UntranslatableError(f"PRINTF: the format has '{match[0]}', but there is no argument {number}")
        if value_family(values[number - 1]) not in (*_FAMILIES[conversion], "null"):
            expected = _NAMES[_FAMILIES[conversion][0]]
            raise UntranslatableError(
                f"PRINTF: '{match[0]}' requires {expected}, but argument {number} is "
                f"{describe_type(values[number - 1].type)}; CAST it"
            )
    operands = [string_constant(pattern), *map(_to_argument, values)]
    return TypedExpression(f"format_string({', '.join(operands)})", STRING)


def _to_argument(value: TypedExpression) -> str:
    return translate_cast(value, STRING, "PRINTF", False).sql if value_family(value) == "decimal" else value.sql


def _check_flags(text: str, flags: str, width: str | None, precision: str | None, conversion: str) -> None:
    """Reject what Java rejects, and conversions with other results in Spark (%h, %c, %t)."""
    is_known = conversion in ("%", "n") or conversion in _FAMILIES
    allowed = {"n": "", "%": "-"}.get(conversion, "-" if conversion in "sSbB" else "-+ 0,(")
    if conversion in "oxX":
        allowed = "-0#"
    if conversion in "eE":
        allowed = "-+ 0("
    is_valid = (
        is_known
        and set(flags) <= set(allowed)
        and len(set(flags)) == len(flags)
        and not {"-", "0"} <= set(flags)
        and not {"+", " "} <= set(flags)
        and (width is not None or not {"-", "0"} & set(flags))
        and not (conversion == "n" and (width or precision))
        and not (precision and conversion in "doxX%")
    )
    if not is_valid or not conversion:
        raise UntranslatableError(f"PRINTF: '{text}' is not supported; use %s %b %d %x %o %f %e %g %% or CONCAT")


FUNCTIONS: Final[dict[str, Function]] = {"PRINTF": _printf}
