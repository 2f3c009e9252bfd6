"""Format and parse timestamps, without using the session time zone for TIMESTAMP values.

Spark's date_format first converts TIMESTAMP_NTZ to TIMESTAMP, which shifts times in the hour that a DST change skips.
"""

from __future__ import annotations

import re

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.typed import UntranslatableError

# Year in two halves, with a sign if it does not have four digits; month to second, each with a separate group for its
# leading zero; six fractional digits.
_PARTS = (
    r"^([+-]?[0-9]*)([0-9]{2})-(0?)([0-9]+)-(0?)([0-9]+) (0?)([0-9]+):(0?)([0-9]+):(0?)([0-9]+)[.]" + r"([0-9])" * 6
)
_GROUPS = {
    "yyyy": "$1$2",
    "uuuu": "$1$2",
    "yy": "$2",
    **{letter * 2: f"${group}${group + 1}" for group, letter in zip(range(3, 13, 2), "MdHms", strict=True)},
    **{letter: f"${group + 1}" for group, letter in zip(range(3, 13, 2), "MdHms", strict=True)},
    **{"S" * n: "".join(f"${13 + i}" for i in range(n)) for n in range(1, 7)},
}


def format_timestamp(sql: str, precision: int) -> str:
    """Return a timestamp as a string like Flink's CAST: always with ``precision`` fractional digits."""
    if precision == 0:
        return f"substring_index(CAST({sql} AS STRING), '.', 1)"
    return f"regexp_replace({_with_zeros(sql, precision)}, '([.][0-9]{{{precision}}})[0-9]*$', '$1')"


def _with_zeros(sql: str, count: int) -> str:
    """Return a timestamp as a string with at least ``count`` fractional digits: Spark omits zeros at their end."""
    return f"concat(regexp_replace(CAST({sql} AS STRING), '(:[0-9]{{2}})$', '$1.'), '{'0' * count}')"


def translate_date_format(sql: str, pattern: str) -> str:
    """Translate ``DATE_FORMAT(timestamp, pattern)``.

    Raises:
        UntranslatableError: an unsupported pattern letter.
    """
    regex, replacement = string_constant(_PARTS + "[0-9]*$"), string_constant(_translate_pattern(pattern))
    return f"regexp_replace({_with_zeros(sql, 6)}, {regex}, {replacement})"


def _parse_pattern(pattern: str) -> list[tuple[str, str]]:
    """Split a java.time pattern into pairs of (letters, literal text), one of them empty."""
    parts: list[tuple[str, str]] = []
    for match in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", pattern):
        if match[1] is not None:
            parts.append(("", match[1].replace("''", "'") or "'"))
        else:
            parts.append((match[0], "") if match[2] else ("", match[0]))
    if pattern.count("'") % 2:
        raise UntranslatableError(f"unclosed quote in the pattern '{pattern}'")
    return parts


def _translate_pattern(pattern: str) -> str:
    result = []
    for letters, literal in _parse_pattern(pattern):
        if letters and letters not in _GROUPS:
            raise UntranslatableError(
                f"'{letters}' in the pattern '{pattern}' is not supported; use yyyy yy MM M dd d HH H mm m ss s, S "
                "to SSSSSS, and text in single quotes"
            )
        result.append(_GROUPS[letters] if letters else re.sub(r"([\\$])", r"\\\1", literal))
    return "".join(result)


def truncate_fraction(sql: str, precision: int) -> str:
    """Truncate a timestamp to ``precision`` fractional digits."""
    unit = "1" if precision == 0 else "0." + "0" * (precision - 1) + "1"  # in seconds
    return bind(sql, lambda x: f"({x} - make_dt_interval(0, 0, 0, extract(SECOND FROM {x}) % {unit}))")


def reject_before_1970(sql: str, function: str, body: str) -> str:
    """Return ``body``, but raise an error for timestamps before 1970, which Flink truncates toward zero."""
    error = raise_error_sql(f"{function} of a timestamp before 1970, which Flink rounds up", sql)
    return f"if({sql} < TIMESTAMP_NTZ '1970-01-01 00:00:00', {error}, {body})"


_DATE = r"(?!0000)([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})"
_TIMESTAMP = rf"^{_DATE}( [0-9]{{1,2}}:[0-9]{{1,2}}:[0-9]{{1,2}}(?:[.][0-9]{{0,9}})?)?$"
# Values that Flink normalizes to another day (February 30, 24:00), and years with more digits.
_NORMALIZED_BY_FLINK = (
    r"^[0-9]{4}-[0-9]{1,2}-(29|30|31)( ([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9]([.][0-9]{0,9})?)?$"
    r"|^[0-9]{4}-[0-9-]+ 24:0?0:0?0([.]0*)?$|^[+-][0-9]{5}|[^ -~]"
)


def parse_timestamp(sql: str, precision: int, error_message: str | None) -> str:
    """Parse a string as a TIMESTAMP, like Flink's CAST and TO_TIMESTAMP without a pattern.

    Args:
        error_message: the error for invalid text; None to return NULL.
    """

    def body(x: str) -> str:
        value = f"try_cast(regexp_replace({x}, {string_constant(_TIMESTAMP)}, '$1$2') AS TIMESTAMP_NTZ)"
        if error_message:
            invalid = raise_error_sql(error_message, x)
        else:
            error = raise_error_sql("a date or time that does not exist, which Flink would normalize", x)
            invalid = f"if({x} RLIKE {string_constant(_NORMALIZED_BY_FLINK)}, {error}, NULL)"
        valid = f"WHEN {x} RLIKE {string_constant(_TIMESTAMP)} THEN coalesce({value}, {invalid})"
        return f"CASE WHEN {x} IS NULL THEN NULL {valid} ELSE {invalid} END"

    value = bind(sql, body)
    return value if precision >= 6 else truncate_fraction(value, precision)


_DIGITS = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2, "SSS": 3}
_UNITS = ("yyyy", "MM", "dd", "HH", "mm", "ss", "SSS")


def parse_timestamp_with_pattern(
    sql: str, pattern: str, ignores_rest: bool = False, without_digits: str = "NULL"
) -> str:
    """Parse a string as a TIMESTAMP with a pattern, like TO_TIMESTAMP.

    Flink parses leniently and normalizes dates that do not exist. If a string contains digits but does not match the
    pattern exactly, this raises an error instead of returning a value that differs from Flink's.

    Args:
        ignores_rest: whether text after the timestamp is ignored, unless it starts with a digit.
        without_digits: the value of a string without digits.

    Raises:
        UntranslatableError: an unsupported pattern letter.
    """
    regex, units = "", []
    for letters, literal in _parse_pattern(pattern):
        if letters and (letters not in _DIGITS or letters in units):
            raise UntranslatableError(
                f"'{letters}' in the pattern '{pattern}' is not supported; use yyyy MM dd HH mm ss SSS"
            )
        if letters:
            units.append(letters)
        regex += f"([0-9]{{{_DIGITS[letters]}}})" if letters else re.sub(r"([^\w\s])", r"\\\1", literal)
    if not {"yyyy", "MM", "dd"} <= set(units) or set(units) != set(_UNITS[: len(units)]):
        raise UntranslatableError(
            f"the pattern '{pattern}' needs yyyy, MM and dd, and every unit above its smallest one"
        )
    groups = {letters: f"${units.index(letters) + 1}" for letters in units}
    canonical = "-".join(groups[x] for x in _UNITS[:3])
    canonical += " " + ":".join(groups.get(x, "00") for x in _UNITS[3:6])
    canonical += f".{groups['SSS']}" if "SSS" in groups else ""
    message = "a string that does not match the pattern exactly, which Flink would parse leniently"
    regex += "(?:[^0-9].*)?" if ignores_rest else ""

    def body(x: str) -> str:
        text = f"regexp_replace({x}, {string_constant('^' + regex + '$')}, {string_constant(canonical)})"
        value = f"try_cast({text} AS TIMESTAMP_NTZ)"
        valid = f"if({x} RLIKE {string_constant('^(?!.*0000)' + regex + '$')}, {value}, NULL)"
        return f"coalesce({valid}, if({x} RLIKE '[0-9]|[^ -~]', {raise_error_sql(message, x)}, {without_digits}))"

    return bind(sql, body)
