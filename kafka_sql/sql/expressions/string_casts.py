"""CAST of texts: what Flink takes for a number, a truth or a time; all else is an error, or NULL for TRY_CAST."""

from __future__ import annotations

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions import timestamp_format
from kafka_sql.sql.expressions.binding import bind, failure
from kafka_sql.sql.expressions.typed import UntranslatableError, describe, family
from kafka_sql.sql.grammar.types import FlinkType

_WHOLE = r"^ *(?=[-+]?[0-9.])([-+]?)([0-9]*)(?:[.][0-9]*)? *$"
_NUMBER = r"(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9]+)?"
_REAL = rf"^[\x00-\x20]*([-+]?(?:NaN|Infinity|{_NUMBER}))[fFdD]?[\x00-\x20]*$"
_DECIMAL = rf"^[\x00-\x20]*([-+]?{_NUMBER})[\x00-\x20]*$"
_ODD_DECIMAL = r"^\s*[-+]?[0-9.]*[^0-9\s]\s*$|[^\x00-~]"  # Flink passes over the letter at the end
_ODD_REAL = r"^\s*[-+]?(0[xX]|NaN[fFdD]|Infinity[fFdD])"
_DAY = r"^ *(?=[0-9]{4}-[0-9]{1,2}-[0-9]{1,2} *(?: .*)?$)([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}).*$"
_WORDS = {"TRUE": ("true", "t", "yes", "y", "1"), "FALSE": ("false", "f", "no", "n", "0")}


def from_text(sql: str, to: FlinkType, target: str, attempt: bool) -> str | None:
    """A text as another type; None where there is no such cast."""
    kind = family(to)
    if kind == "string":
        return sql
    if kind == "binary":
        return f"CAST({sql} AS BINARY)"
    if kind == "boolean":
        return bind(sql, lambda x: _boolean(x, attempt))
    if kind == "integer":
        return _checked(sql, target, _WHOLE, "$1" + "0$2", attempt)
    if kind == "approximate":
        return _checked(sql, target, _REAL, "$1", attempt, _ODD_REAL)
    if kind == "decimal":
        return _decimal(sql, target, attempt)
    if attempt and kind in ("date", "timestamp", "timestamp_ltz"):
        raise UntranslatableError(
            f"TRY_CAST of a text to {describe(to)} has no translation; use TO_TIMESTAMP, which gives NULL, or CAST"
        )
    if kind == "date":
        return _checked(sql, target, _DAY, "$1", attempt)
    if kind in ("timestamp", "timestamp_ltz"):
        return timestamp_format.parsed(sql, target, to.precision, "DateTimeException: the text is no timestamp")
    return None


def _boolean(x: str, attempt: bool) -> str:
    tests = " ".join(
        f"WHEN lower({x}) IN ({', '.join(map(string_literal, words))}) THEN {value}" for value, words in _WORDS.items()
    )
    other = "" if attempt else f" WHEN {x} IS NOT NULL THEN {failure('Cannot parse as BOOLEAN', x)}"
    return f"CASE {tests}{other} END"


def _checked(sql: str, target: str, pattern: str, group: str, attempt: bool, odd: str | None = None) -> str:
    def body(x: str) -> str:
        regex = string_literal(pattern)
        text = f"if({x} RLIKE {regex}, regexp_replace({x}, {regex}, {string_literal(group)}), NULL)"
        value = f"try_cast({text} AS {target})"
        error = failure(f"NumberFormatException: For input string, which is no {target}", x)
        if not attempt:
            return f"if({x} IS NULL, NULL, coalesce({value}, {error}))"
        return value if odd is None else f"if({x} RLIKE {string_literal(odd)}, {error}, {value})"

    return bind(sql, body)


def _decimal(sql: str, target: str, attempt: bool) -> str:
    """What overflows is an error, too."""
    return _checked(sql, target, _DECIMAL, "$1", attempt, _ODD_DECIMAL)
