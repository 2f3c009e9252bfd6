"""Functions of computed columns: the ones that mean the same in Flink and Spark, or are translated exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafka_sql.errors import did_you_mean
from kafka_sql.sql.typed import BOOLEAN, INT, NUMERIC, STRING, NoCommonMeaning, Typed, common, describe, family
from kafka_sql.sql.types import FlinkType

Function = Callable[[list[Typed]], Typed]
_NOW: Final = Typed("current_timestamp()", FlinkType("TIMESTAMP_LTZ", (3,)))


def call(name: str, arguments: list[Typed]) -> Typed:
    """A function call in Spark's words.

    Raises:
        NoCommonMeaning: the function is not among the translated ones, or not with these arguments.
    """
    function = _FUNCTIONS.get(name)
    if function is None:
        reason = _REFUSED.get(name, "is not among the functions that are translated")
        raise NoCommonMeaning(f"function {name} {reason}.{did_you_mean(name, _FUNCTIONS)}".rstrip("."))
    return function(arguments)


def _of_strings(name: str, spark: str, least: int, most: int | None, result: FlinkType = STRING) -> Function:
    def function(arguments: list[Typed]) -> Typed:
        _count(name, arguments, least, most)
        for argument in arguments:
            if argument.type is not None and family(argument.type) != "string":
                raise NoCommonMeaning(f"{name} takes strings and not {describe(argument.type)}; CAST the argument")
        return Typed(f"{spark}({', '.join(a.sql for a in arguments)})", result)

    return function


def _count(name: str, arguments: list[Typed], least: int, most: int | None) -> None:
    if len(arguments) < least or (most is not None and len(arguments) > most):
        wanted = str(least) if least == most else f"at least {least}" if most is None else f"{least} to {most}"
        raise NoCommonMeaning(f"{name} takes {wanted} arguments and not {len(arguments)}")


def _now(name: str) -> Function:
    def function(arguments: list[Typed]) -> Typed:
        _count(name, arguments, 0, 0)
        return _NOW

    return function


def _substring(arguments: list[Typed]) -> Typed:
    _count("SUBSTRING", arguments, 2, 3)
    value, *places = arguments
    if value.type is not None and family(value.type) != "string":
        raise NoCommonMeaning(f"SUBSTRING takes a string and not {describe(value.type)}")
    if not all(place.sql.isdecimal() for place in places):
        raise NoCommonMeaning(
            "SUBSTRING is translated for positions and lengths that are literals from 0 on: negative ones give "
            "other results in Spark than in Flink"
        )
    return Typed(f"substring({', '.join(a.sql for a in arguments)})", STRING)


def _abs(arguments: list[Typed]) -> Typed:
    _count("ABS", arguments, 1, 1)
    if arguments[0].type is None or family(arguments[0].type) not in NUMERIC:
        raise NoCommonMeaning(f"ABS takes a number and not {describe(arguments[0].type)}")
    return Typed(f"abs({arguments[0].sql})", arguments[0].type)


def _coalesce(arguments: list[Typed]) -> Typed:
    _count("COALESCE", arguments, 1, None)
    return Typed(f"coalesce({', '.join(a.sql for a in arguments)})", common(a.type for a in arguments))


def _nullif(arguments: list[Typed]) -> Typed:
    _count("NULLIF", arguments, 2, 2)
    common(a.type for a in arguments)
    return Typed(f"nullif({arguments[0].sql}, {arguments[1].sql})", arguments[0].type)


def _if(arguments: list[Typed]) -> Typed:
    _count("IF", arguments, 3, 3)
    common((arguments[0].type, BOOLEAN))
    return Typed(f"if({', '.join(a.sql for a in arguments)})", common(a.type for a in arguments[1:]))


def _to_timestamp_ltz(arguments: list[Typed]) -> Typed:
    _count("TO_TIMESTAMP_LTZ", arguments, 2, 2)
    value, unit = arguments
    if value.type is None or family(value.type) != "integer":
        raise NoCommonMeaning(f"TO_TIMESTAMP_LTZ takes a BIGINT or INT and not {describe(value.type)}")
    spark = {"0": "timestamp_seconds", "3": "timestamp_millis"}.get(unit.sql)
    if spark is None:
        raise NoCommonMeaning("TO_TIMESTAMP_LTZ takes 0 (seconds) or 3 (milliseconds) as its second argument")
    return Typed(f"{spark}({value.sql})", FlinkType("TIMESTAMP_LTZ", (3,)))


_FUNCTIONS: Final[dict[str, Function]] = {
    "UPPER": _of_strings("UPPER", "upper", 1, 1),
    "LOWER": _of_strings("LOWER", "lower", 1, 1),
    "TRIM": _of_strings("TRIM", "trim", 1, 1),
    "CHAR_LENGTH": _of_strings("CHAR_LENGTH", "char_length", 1, 1, INT),
    "CHARACTER_LENGTH": _of_strings("CHARACTER_LENGTH", "char_length", 1, 1, INT),
    "CONCAT": _of_strings("CONCAT", "concat", 1, None),  # NULL where one of them is, in both
    "SUBSTRING": _substring,
    "ABS": _abs,
    "COALESCE": _coalesce,
    "NULLIF": _nullif,
    "IF": _if,
    "PROCTIME": _now("PROCTIME"),
    "CURRENT_TIMESTAMP": _now("CURRENT_TIMESTAMP"),
    "NOW": _now("NOW"),
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
}
_REFUSED: Final = {
    "MOD": "has no translation: its type, and so what overflows, differs between Flink and Spark",
    "TO_TIMESTAMP": "has no exact translation: texts that are no timestamp become NULL in Flink by other rules. "
    "Declare the column as TIMESTAMP(3), or CAST the text",
    "CURRENT_ROW_TIMESTAMP": "has no counterpart: Spark's clock stands still during a batch. Use CURRENT_TIMESTAMP",
    "LOCALTIMESTAMP": "has no counterpart for a column of a stream. Use CURRENT_TIMESTAMP",
}
