"""Write the numbers of JSON documents as Flink does: with the document's digits, in the form of Java's BigDecimal.

Spark's VARIANT has the values of a document, but not the digits of its numbers. So numbers are first marked: each
becomes a string that starts with U+0001 and continues with its digits.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, raise_error_sql

# what precedes a number, from the end of the number before: no quote, digit or sign outside of strings
_NUMBER: Final = (
    r"\G([^\"0-9-]*+(?:\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"[^\"0-9-]*+)*+)(-?[0-9]++(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+)"
)
_MARK: Final = r"\u0001"  # as JSON escapes it
_WITH_MARK: Final = r'$1"\\u0001$2"'
_MARKED: Final = r'"\\u0001([^"]*)"'
_REWRITTEN: Final = r"[eE]|^-?0[.]000000|^-0"  # 1e3 is 1E+3, 0.00000012 is 1.2E-7, -0.0 is 0.0
_ANY_REWRITTEN: Final = r'"\\u0001(?:-?0[.]000000|-0|[-+.0-9]*[eE])'
_PARTS: Final = r"^(-?)([0-9]+)[.]?([0-9]*)(?:[eE]([-+]?[0-9]{1,9}))?$"


def mark_numbers(text: str) -> str:
    """Return SQL that marks the numbers of a JSON document."""
    error = raise_error_sql("JSON with the character U+0001")
    marked = f"regexp_replace({text}, {string_constant(_NUMBER)}, {string_constant(_WITH_MARK)})"
    return f"if(contains({text}, {string_constant(_MARK)}), {error}, {marked})"


def write_number(text: str) -> str:
    """Return SQL for the text of a number as ``java.math.BigDecimal`` writes it."""

    def write(t: str) -> str:
        pattern = string_constant(_PARTS)
        digits = f"regexp_replace(regexp_replace({t}, {pattern}, '$2$3'), '^0+(?=.)', '')"
        exponent = f"coalesce(try_cast(regexp_extract({t}, {pattern}, 4) AS INT), 0)"
        scale = f"(char_length(regexp_extract({t}, {pattern}, 3)) - {exponent})"
        return bind(digits, lambda d: bind(scale, lambda s: _write_scaled(t, d, s)))

    return bind(text, lambda t: f"if({t} RLIKE {string_constant(_REWRITTEN)}, {write(t)}, {t})")


def _write_scaled(t: str, digits: str, scale: str) -> str:
    """Return SQL for the text of ``digits / 10 ** scale``: see ``BigDecimal.toString``."""
    error = raise_error_sql("JSON with a number that has an exponent of more than 9 digits", t)
    plain = bind(
        f"lpad({digits}, greatest(char_length({digits}), {scale} + 1), '0')",
        lambda p: f"concat(left({p}, char_length({p}) - {scale}), '.', right({p}, {scale}))",
    )
    fraction = f"if(char_length({digits}) > 1, concat('.', substring({digits}, 2)), '')"
    adjusted = f"(char_length({digits}) - 1 - {scale})"
    scientific = f"concat(left({digits}, 1), {fraction}, 'E', if({adjusted} > 0, '+', ''), CAST({adjusted} AS STRING))"
    sign = f"if({t} LIKE '-%' AND {digits} <> '0', '-', '')"
    return (
        f"CASE WHEN NOT {t} RLIKE {string_constant(_PARTS)} THEN {error} ELSE concat({sign}, CASE WHEN {scale} = 0 "
        f"THEN {digits} WHEN {scale} > 0 AND {adjusted} >= -6 THEN {plain} ELSE {scientific} END) END"
    )


def unmark_text(text: str) -> str:
    """Return SQL for a string value without the mark of a number."""
    return bind(text, lambda t: f"if(startswith({t}, chr(1)), {write_number(f'substring({t}, 2)')}, {t})")


def unmark_document(text: str) -> str:
    """Return SQL for a JSON document without marks."""
    number = write_number(r"regexp_extract(part, '^([^\"]*)\"', 1)")
    written = f"if(i = 0, part, concat({number}, regexp_replace(part, '^[^\"]*\"', '')))"
    mark = string_constant(r'"\\u0001')

    def unmark(t: str) -> str:
        return (
            f"if({t} RLIKE {string_constant(_ANY_REWRITTEN)}, "
            f"array_join(transform(split({t}, {mark}), (part, i) -> {written}), ''), "
            f"regexp_replace({t}, {string_constant(_MARKED)}, '$1'))"
        )

    return bind(text, unmark)
