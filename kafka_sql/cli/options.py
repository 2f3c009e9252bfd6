"""Find the option or option value at the cursor, and suggest completions for it."""

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
    """The option at the cursor.

    Attributes:
        key: the option whose value is typed; None if a key is typed.
        typed: the part of the literal before the cursor; None if its opening quote is not typed yet.
        options: the options before the cursor, with their values.
        is_setting: whether the option belongs to SET or RESET, not to a table.
    """

    key: str | None
    typed: str | None
    options: dict[str, str]
    is_setting: bool


def option_context(before: str) -> OptionContext | None:
    """Return the option at the end of ``before``, the statement up to the cursor; None if there can be none."""
    tokens = list(lexer.tokenize_flink(before))
    typed = None
    open_quote = next((i for i, x in enumerate(tokens) if x.type == lexer.SYMBOL and x.text == "'"), None)
    if open_quote is not None:
        typed = before[tokens[open_quote].end :]
        tokens = tokens[:open_quote]
    start = _options_start(tokens)
    if start is None:
        return None
    inside = tokens[start:]
    options = {k.text[1:-1]: v.text[1:-1] for k, equals, v in _triples(inside) if k.type == lexer.STRING == v.type}
    is_setting = tokens[0].upper in ("SET", "RESET")
    if not inside or inside[-1].text == ",":
        return OptionContext(None, typed, options, is_setting)
    if inside[-1].text == "=" and len(inside) > 1 and inside[-2].type == lexer.STRING:
        return OptionContext(inside[-2].text[1:-1], typed, options, is_setting)
    return None


def _triples(tokens: list[Token]) -> Iterable[tuple[Token, Token, Token]]:
    return (t for t in zip(tokens, tokens[1:], tokens[2:], strict=False) if t[1].text == "=")


def _options_start(tokens: list[Token]) -> int | None:
    """Return the index after the ``(`` of the options, or after SET or RESET; None if there is neither."""
    words = [x.upper for x in tokens[:3]]
    if words[:1] == ["SET"] or words[:1] == ["RESET"]:
        return 1
    if words[:1] not in (["CREATE"], ["ALTER"]) or "TABLE" not in words:
        return None
    opening = "WITH" if words[0] == "CREATE" else "SET"
    starts = [i + 2 for i, x in enumerate(tokens[:-1]) if x.upper == opening and tokens[i + 1].text == "("]
    if not starts or any(x.text == ")" for x in tokens[starts[-1] :]):
        return None
    return starts[-1]


def suggestions(context: OptionContext) -> list[tuple[str, str]]:
    """Return the allowed keys or values, each with a short description."""
    known = SETTINGS if context.is_setting else table_options(context.options)
    if context.key is None:
        return [(key, option.type) for key, option in known.items() if key not in context.options]
    if context.key in _FORMAT_KEYS and not context.is_setting:
        return [(identifier, "format") for identifier in FORMATS]
    option = known.get(context.key)
    return [(value, "default" if value == option.default else "") for value in option.allowed] if option else []


def table_options(typed_options: dict[str, str]) -> dict[str, Option[Any]]:
    """Return the options of the connector and of the chosen formats, or of all formats if none is chosen."""
    chosen = [(key, typed_options[key]) for key in _FORMAT_KEYS if typed_options.get(key) in FORMATS]
    options = {option.key: option for option in KAFKA_OPTIONS}
    for key, identifier in chosen or [("format", name) for name in FORMATS]:
        prefix = key.removesuffix("format")
        options.update({prefix + option.key: option for option in FORMATS[identifier].options})
    return options
