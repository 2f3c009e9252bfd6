"""Which WITH option, or value of one, is being typed, and what fits there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Option
from kafka_sql.options.connector import KAFKA_OPTIONS
from kafka_sql.sql.jobs.settings import SETTINGS
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

_FORMAT_KEYS = ("format", "value.format", "key.format")


class OptionContext(NamedTuple):
    """Where the cursor is among options.

    Attributes:
        key: the option whose value is typed; None where a key is.
        typed: the part of the literal before the cursor; None where its quote is not typed yet.
        given: options that stand before, with their values.
        settings: whether they are SET's, and not a table's.
    """

    key: str | None
    typed: str | None
    given: dict[str, str]
    settings: bool


def option_context(before: str) -> OptionContext | None:
    """The place at the end of ``before``, a statement as far as it is typed; None where no option can be."""
    lexemes = list(lexer.tokenize_flink(before))
    typed = None
    open_quote = next((i for i, x in enumerate(lexemes) if x.type == lexer.SYMBOL and x.text == "'"), None)
    if open_quote is not None:
        typed = before[lexemes[open_quote].end :]
        lexemes = lexemes[:open_quote]
    start = _options_start(lexemes)
    if start is None:
        return None
    inside = lexemes[start:]
    given = {k.text[1:-1]: v.text[1:-1] for k, equals, v in _triples(inside) if k.type == lexer.STRING == v.type}
    settings = lexemes[0].upper in ("SET", "RESET")
    if not inside or inside[-1].text == ",":
        return OptionContext(None, typed, given, settings)
    if inside[-1].text == "=" and len(inside) > 1 and inside[-2].type == lexer.STRING:
        return OptionContext(inside[-2].text[1:-1], typed, given, settings)
    return None


def _triples(lexemes: list[Token]) -> Iterable[tuple[Token, Token, Token]]:
    return (t for t in zip(lexemes, lexemes[1:], lexemes[2:], strict=False) if t[1].text == "=")


def _options_start(lexemes: list[Token]) -> int | None:
    """The index behind the ``(`` that options stand in, or behind SET and RESET."""
    words = [x.upper for x in lexemes[:3]]
    if words[:1] == ["SET"] or words[:1] == ["RESET"]:
        return 1
    if words[:1] not in (["CREATE"], ["ALTER"]) or "TABLE" not in words:
        return None
    opening = "WITH" if words[0] == "CREATE" else "SET"
    starts = [i + 2 for i, x in enumerate(lexemes[:-1]) if x.upper == opening and lexemes[i + 1].text == "("]
    if not starts or any(x.text == ")" for x in lexemes[starts[-1] :]):
        return None
    return starts[-1]


def suggestions(at: OptionContext) -> list[tuple[str, str]]:
    """The keys or values that fit, each with a few words about it."""
    known = SETTINGS if at.settings else table_options(at.given)
    if at.key is None:
        return [(key, option.type) for key, option in known.items() if key not in at.given]
    if at.key in _FORMAT_KEYS and not at.settings:
        return [(identifier, "format") for identifier in FORMATS]
    option = known.get(at.key)
    return [(value, "default" if value == option.default else "") for value in option.allowed] if option else []


def table_options(given: dict[str, str]) -> dict[str, Option[Any]]:
    """The options of the connector and of the formats that are given; of all formats where none is."""
    named = [(key, given[key]) for key in _FORMAT_KEYS if given.get(key) in FORMATS]
    options = {option.key: option for option in KAFKA_OPTIONS}
    for key, identifier in named or [("format", name) for name in FORMATS]:
        prefix = key.removesuffix("format")
        options.update({prefix + option.key: option for option in FORMATS[identifier].options})
    return options
