"""CAST and TRY_CAST, where Flink and Spark agree."""

from __future__ import annotations

from kafka_sql.sql.typed import NUMERIC, NoCommonMeaning, Typed, describe, family
from kafka_sql.sql.types import INTEGERS, FlinkType, spark_type

_TIMES = ("timestamp", "timestamp_ltz", "date")
# From a family to the families that a value is cast to alike. What does not fit raises in Spark (ANSI); so it does
# in Flink, except that Flink lets integers wrap around.
_ALLOWED = {
    "integer": (*NUMERIC, "string", "boolean"),
    "decimal": (*NUMERIC, "string"),
    "approximate": (*NUMERIC, "string"),
    "string": (*NUMERIC, "string", "boolean", *_TIMES),
    "boolean": ("boolean", "string", "integer"),
    "date": (*_TIMES, "string"),
    "timestamp": _TIMES,
    "timestamp_ltz": _TIMES,
    "time": ("time",),
    "binary": ("binary",),
}
# What TRY_CAST makes NULL alike: nothing that fails, or what fails in both.
_TRY = {
    "string": ("string", "decimal"),
    "integer": ("decimal", "approximate", "string", "boolean"),
    "decimal": ("decimal", "approximate", "string"),
    "approximate": ("decimal", "string"),
}


def cast(value: Typed, to: FlinkType, column: str, attempt: bool) -> Typed:
    """``CAST(value AS to)``, or TRY_CAST.

    Args:
        column: the computed column, for errors of the type.
        attempt: whether it is TRY_CAST.

    Raises:
        NoCommonMeaning: the two make different values of it.
        SchemaError: Spark cannot carry the type.
    """
    target = spark_type(to, column)
    name = "TRY_CAST" if attempt else "CAST"
    if value.type is None:
        return Typed(f"CAST(NULL AS {target})", to)
    source, kind = family(value.type), family(to)
    if kind not in _ALLOWED.get(source, ()):
        raise NoCommonMeaning(
            f"{name} of {describe(value.type)} to {describe(to)} gives other values in Spark than in Flink"
        )
    if attempt and not _never_differs(value.type, to):
        raise NoCommonMeaning(
            f"TRY_CAST of {describe(value.type)} to {describe(to)} gives NULL for other values in Spark than in Flink; "
            "use CAST"
        )
    if _has_length(to):
        raise NoCommonMeaning(f"{name} to {describe(to)} cuts or pads in Flink only; use STRING or BYTES")
    text = f"{name}({value.sql} AS {target})"
    if source == "boolean" and kind == "string":
        text = f"upper({text})"  # TRUE in Flink, true in Spark
    return Typed(_truncated(text, value.type, to), to)


def _has_length(type: FlinkType) -> bool:
    if type.name in ("CHAR", "BINARY"):
        return True
    return type.name in ("VARCHAR", "VARBINARY") and type.sizes not in ((), (2147483647,))


def _never_differs(source: FlinkType, to: FlinkType) -> bool:
    if family(source) == family(to) == "integer":
        return INTEGERS[source.name] <= INTEGERS[to.name]
    if family(source) == family(to) == "approximate":
        return source.name == "FLOAT" or to.name == "DOUBLE"
    return family(to) in _TRY.get(family(source), (family(source),))


def _truncated(text: str, source: FlinkType, to: FlinkType) -> str:
    """The fraction of the second cut to the target's digits, as Flink does; Spark has microseconds only."""
    if to.name not in ("TIMESTAMP", "TIMESTAMP_LTZ") or to.precision >= 6 or source.name == "DATE":
        return text
    if family(source) != "string" and source.precision <= to.precision:
        return text
    digit = "1" if to.precision == 0 else "0." + "0" * (to.precision - 1) + "1"
    return f"({text} - make_dt_interval(0, 0, 0, extract(SECOND FROM {text}) % {digit}))"
