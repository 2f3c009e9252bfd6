"""Translate CAST of strings, with Flink's rules for valid text; other text is an error, or NULL for TRY_CAST."""

from __future__ import annotations

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions import timestamp_format
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.session_zone import to_instant
from kafka_sql.sql.expressions.typed import type_family
from kafka_sql.sql.grammar.types import FlinkType

_INTEGER = r"^ *(?=[-+]?[0-9.])([-+]?)([0-9]*)(?:[.][0-9]*)? *$"
_NUMBER = r"(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9]+)?"
_FLOAT = rf"^[\x00-\x20]*([-+]?(?:NaN|Infinity|{_NUMBER}))[fFdD]?[\x00-\x20]*$"
_DECIMAL = rf"^[\x00-\x20]*([-+]?{_NUMBER})[\x00-\x20]*$"
_UNSUPPORTED_DECIMAL = r"^\s*[-+]?[0-9.]*[^0-9\s]\s*$|[^\x00-~]"  # Flink ignores the trailing letter
_UNSUPPORTED_FLOAT = r"^\s*[-+]?(0[xX]|NaN[fFdD]|Infinity[fFdD])"
# Year, month and day, up to the first space, or with spaces between them if the first character is a space.
_DATE = (
    r"(?s)^[\x00-\x1F]*0*([0-9]{1,4})[\x00-\x1F]*(?:-[\x00-\x1F]*0*([0-9]{1,2})[\x00-\x1F]*"
    r"(?:-[\x00-\x1F]*0*([0-9]{1,2})[\x00-\x1F]*)?)?(?: .*)?$"
    r"|^ [\x00-\x20]*0*([0-9]{1,4})[\x00-\x20]*(?:-[\x00-\x20]*0*([0-9]{1,2})[\x00-\x20]*"
    r"(?:-[\x00-\x20]*0*([0-9]{1,2})[\x00-\x20]*)?)?$"
)
_BOOLEAN_WORDS = {"TRUE": ("true", "t", "yes", "y", "1"), "FALSE": ("false", "f", "no", "n", "0")}


def cast_string(sql: str, target: FlinkType, spark_type: str, is_try: bool) -> str | None:
    """Translate a CAST of a string; return None if there is no such cast."""
    family = type_family(target)
    if family == "string":
        return sql
    if family == "binary":
        return f"CAST({sql} AS BINARY)"
    if family == "boolean":
        return bind(sql, lambda x: _cast_to_boolean(x, is_try))
    if family == "integer":
        # Java reads "$10" as group 1 and the digit 0, because there is no group 10
        return _cast_if_matching(sql, spark_type, _INTEGER, "$10$2", is_try)
    if family == "approximate":
        return _cast_if_matching(sql, spark_type, _FLOAT, "$1", is_try, _UNSUPPORTED_FLOAT)
    if family == "decimal":  # overflow is an error, too
        return _cast_if_matching(sql, spark_type, _DECIMAL, "$1", is_try, _UNSUPPORTED_DECIMAL)
    if family == "date":
        return bind(sql, lambda x: _cast_to_date(x, is_try))
    if family in ("timestamp", "timestamp_ltz"):
        message = None if is_try else "DateTimeException: invalid timestamp"
        local = timestamp_format.parse_timestamp(sql, target.precision, message)
        return local if family == "timestamp" else to_instant(local)
    return None


def _cast_to_boolean(x: str, is_try: bool) -> str:
    conditions = " ".join(
        f"WHEN lower({x}) IN ({', '.join(map(string_constant, words))}) THEN {value}"
        for value, words in _BOOLEAN_WORDS.items()
    )
    invalid = "" if is_try else f" WHEN {x} IS NOT NULL THEN {raise_error_sql('Cannot parse as BOOLEAN', x)}"
    return f"CASE {conditions}{invalid} END"


def _cast_to_date(x: str, is_try: bool) -> str:
    """Cast a string that starts with a date; a missing month or day is 1."""
    regex = string_constant(_DATE)
    year, month, day = (
        f"concat(regexp_extract({x}, {regex}, {n}), regexp_extract({x}, {regex}, {n + 3}))" for n in (1, 2, 3)
    )
    text = (
        f"concat(lpad({year}, 4, '0'), '-', coalesce(nullif({month}, ''), '1'), '-', coalesce(nullif({day}, ''), '1'))"
    )
    value = f"if({x} RLIKE {regex}, try_cast({text} AS DATE), NULL)"
    if is_try:
        return value
    error = raise_error_sql("DateTimeException: not a valid DATE. For input string", x)
    return f"if({x} IS NULL, NULL, coalesce({value}, {error}))"


def _cast_if_matching(
    sql: str, spark_type: str, pattern: str, replacement: str, is_try: bool, unsupported: str | None = None
) -> str:
    """Cast a string that matches a pattern; other strings, and values that Spark cannot cast, are an error.

    With TRY_CAST, they are NULL.

    Args:
        pattern, replacement: a regular expression, and its replacement, which is the text to cast.
        unsupported: matches strings that TRY_CAST converts in Flink, but not here. They are an error instead of NULL.
    """

    def body(x: str) -> str:
        regex = string_constant(pattern)
        text = f"if({x} RLIKE {regex}, regexp_replace({x}, {regex}, {string_constant(replacement)}), NULL)"
        value = f"try_cast({text} AS {spark_type})"
        error = raise_error_sql(f"NumberFormatException: not a valid {spark_type}. For input string", x)
        if not is_try:
            return f"if({x} IS NULL, NULL, coalesce({value}, {error}))"
        return value if unsupported is None else f"if({x} RLIKE {string_constant(unsupported)}, {error}, {value})"

    return bind(sql, body)
