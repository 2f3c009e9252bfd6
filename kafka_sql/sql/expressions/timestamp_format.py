"""Timestamps as text and back, without the session's time zone where they have none.

Spark's date_format first makes a TIMESTAMP of a TIMESTAMP_NTZ, which moves the hour that a zone skips in spring.
"""

from __future__ import annotations

import re

from kafka_sql.catalog.sql_literals import string_literal
from kafka_sql.sql.expressions.binding import bind, failure
from kafka_sql.sql.expressions.typed import UntranslatableError

# Year in two halves; month to second each with its leading zero apart; six digits of the fraction.
_PARTS = r"^([0-9]{2})([0-9]{2})-(0?)([0-9]+)-(0?)([0-9]+) (0?)([0-9]+):(0?)([0-9]+):(0?)([0-9]+)[.]" + r"([0-9])" * 6
_GROUPS = {
    "yyyy": "$1$2",
    "uuuu": "$1$2",
    "yy": "$2",
    **{letter * 2: f"${at}${at + 1}" for at, letter in zip(range(3, 13, 2), "MdHms", strict=True)},
    **{letter: f"${at + 1}" for at, letter in zip(range(3, 13, 2), "MdHms", strict=True)},
    **{"S" * n: "".join(f"${13 + i}" for i in range(n)) for n in range(1, 7)},
}


def text(sql: str, precision: int) -> str:
    """A timestamp as Flink's CAST writes it: always ``precision`` digits of the second."""
    plain = f"CAST({sql} AS STRING)"  # Spark leaves zeros of the fraction out
    if precision == 0:
        return f"substring({plain}, 1, 19)"
    return f"rpad(regexp_replace({plain}, '(:[0-9]{{2}})$', '$1.'), {20 + precision}, '0')"


def formatted(sql: str, pattern: str) -> str:
    """``DATE_FORMAT(timestamp, pattern)``.

    Raises:
        UntranslatableError: a letter of the pattern that is not translated.
    """
    return f"regexp_replace({text(sql, 6)}, {string_literal(_PARTS + '$')}, {string_literal(_replacement(pattern))})"


def _fields(pattern: str) -> list[tuple[str, str]]:
    """Letters and literal texts of a pattern of java.time, in their order."""
    parts: list[tuple[str, str]] = []
    for match in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", pattern):
        if match[1] is not None:
            parts.append(("", match[1].replace("''", "'") or "'"))
        else:
            parts.append((match[0], "") if match[2] else ("", match[0]))
    if pattern.count("'") % 2:
        raise UntranslatableError(f"the pattern '{pattern}' has a quote that is not closed")
    return parts


def _replacement(pattern: str) -> str:
    result = []
    for letters, literal in _fields(pattern):
        if letters and letters not in _GROUPS:
            raise UntranslatableError(
                f"'{letters}' in the pattern '{pattern}' has no translation; yyyy yy MM M dd d HH H mm m ss s and S "
                "to SSSSSS have, and texts in single quotes"
            )
        result.append(_GROUPS[letters] if letters else re.sub(r"([\\$])", r"\\\1", literal))
    return "".join(result)


def cut(sql: str, precision: int) -> str:
    """A timestamp with the fraction of its second cut to ``precision`` digits."""
    digit = "1" if precision == 0 else "0." + "0" * (precision - 1) + "1"
    return bind(sql, lambda x: f"({x} - make_dt_interval(0, 0, 0, extract(SECOND FROM {x}) % {digit}))")


def since_1970(sql: str, what: str, body: str) -> str:
    """``body``, but an error for timestamps before 1970, which Flink cuts up and not down."""
    early = failure(f"{what} of a time before 1970, which Flink rounds up", sql)
    return f"if({sql} < TIMESTAMP_NTZ '1970-01-01 00:00:00', {early}, {body})"


_DATE = r"(?!0000)([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})"
_CAST = rf"^{_DATE}( [0-9]{{1,2}}:[0-9]{{1,2}}:[0-9]{{1,2}}(?:[.][0-9]{{0,9}})?)?$"
# What Flink makes another day of: 30 February, 24 o'clock. Or a year of more digits.
_UNUSUAL = r"^[0-9]{4}-[0-9]+-(29|30|31)\b|^[0-9]{4}-[0-9-]+ 24:0?0:0?0([.]0*)?$|^[+-][0-9]{5}|[^ -~]"


def parsed(sql: str, target: str, precision: int, otherwise: str | None) -> str:
    """A text as a timestamp, by the rules of Flink's CAST and of TO_TIMESTAMP without a pattern.

    Args:
        target: TIMESTAMP or TIMESTAMP_NTZ.
        otherwise: the error where the text is none; None for NULL.
    """

    def body(x: str) -> str:
        value = f"try_cast(regexp_replace({x}, {string_literal(_CAST)}, '$1$2') AS {target})"
        unusual = failure("a date or time that does not exist, which Flink moves to one that does", x)
        wrong = failure(otherwise, x) if otherwise else f"if({x} RLIKE {string_literal(_UNUSUAL)}, {unusual}, NULL)"
        good = f"WHEN {x} RLIKE {string_literal(_CAST)} THEN coalesce({value}, {wrong})"
        return f"CASE WHEN {x} IS NULL THEN NULL {good} ELSE {wrong} END"

    value = bind(sql, body)
    return value if precision >= 6 else cut(value, precision)


_DIGITS = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2, "SSS": 3}
_ORDER = ("yyyy", "MM", "dd", "HH", "mm", "ss", "SSS")


def parsed_by(sql: str, target: str, pattern: str) -> str:
    """A text as a timestamp, by a pattern, as TO_TIMESTAMP does.

    Flink reads more than the pattern says, and dates that do not exist: where a text starts like a time but is not
    exactly of the pattern, this fails, so that no other value than Flink's comes of it.

    Raises:
        UntranslatableError: a letter of the pattern that is not translated.
    """
    regex, seen = "", []
    for letters, literal in _fields(pattern):
        if letters and (letters not in _DIGITS or letters in seen):
            raise UntranslatableError(
                f"'{letters}' in the pattern '{pattern}' has no translation; yyyy MM dd HH mm ss SSS have"
            )
        if letters:
            seen.append(letters)
        regex += f"([0-9]{{{_DIGITS[letters]}}})" if letters else re.sub(r"([^\w\s])", r"\\\1", literal)
    if seen[:0] or not {"yyyy", "MM", "dd"} <= set(seen) or set(seen) != set(_ORDER[: len(seen)]):
        raise UntranslatableError(
            f"the pattern '{pattern}' needs yyyy, MM and dd, and each unit above its smallest one"
        )
    groups = {letters: f"${seen.index(letters) + 1}" for letters in seen}
    canonical = "-".join(groups[x] for x in _ORDER[:3])
    canonical += " " + ":".join(groups.get(x, "00") for x in _ORDER[3:6])
    canonical += f".{groups['SSS']}" if "SSS" in groups else ""
    unusual = "a text that starts like a time but is not of the pattern, which Flink reads in its own way"

    def body(x: str) -> str:
        text = f"regexp_replace({x}, {string_literal('^' + regex + '$')}, {string_literal(canonical)})"
        value = f"try_cast({text} AS {target})"
        good = f"if({x} RLIKE {string_literal('^(?!.*0000)' + regex + '$')}, {value}, NULL)"
        return f"coalesce({good}, if({x} RLIKE '[0-9]|[^ -~]', {failure(unusual, x)}, NULL))"

    return bind(sql, body)
