"""Find the option or option value at the cursor, and suggest completions for it."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Option
from kafka_sql.options.connector import KAFKA_OPTIONS
from kafka_sql.sql.jobs.settings import SETTINGS
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

_FORMAT_KEYS = ("format", "value.format", "key.format")


class OptionContext(NamedTuple):
    """The option at the cursor."""

    key: str | None  # the option whose value is typed; None if a key is typed
    fragment: str | None  # the part of the literal before the cursor; None if its opening quote is not typed yet
    options: dict[str, str]  # the options before the cursor, with their values
    is_setting: bool  # whether the option belongs to SET or RESET, not to a table


def option_context(text: str) -> OptionContext | None:
    """Return the option at the end of a statement's text up to the cursor; None if there can be none."""
    tokens = list(lexer.tokenize_flink(text))
    fragment = None
    open_quote = next((i for i, x in enumerate(tokens) if x.type == lexer.SYMBOL and x.text == "'"), None)
    if open_quote is not None:
        fragment = text[tokens[open_quote].end :]
        tokens = tokens[:open_quote]
    start = _options_start(tokens)
    if start is None:
        return None
    option_tokens = tokens[start:]
    options = {
        key.text[1:-1]: value.text[1:-1]
        for key, equals, value in zip(option_tokens, option_tokens[1:], option_tokens[2:], strict=False)
        if equals.text == "=" and key.type == lexer.STRING == value.type
    }
    is_setting = tokens[0].upper in ("SET", "RESET")
    if not option_tokens or option_tokens[-1].text == ",":
        return OptionContext(None, fragment, options, is_setting)
    if option_tokens[-1].text == "=" and len(option_tokens) > 1 and option_tokens[-2].type == lexer.STRING:
        return OptionContext(option_tokens[-2].text[1:-1], fragment, options, is_setting)
    return None


def _options_start(tokens: list[Token]) -> int | None:
    """Return the index after the ``(`` of the options, or after SET or RESET; None if there is neither."""
    words = [x.upper for x in tokens[:3]]
    if words[:1] == ["SET"] or words[:1] == ["RESET"]:
        return 1
    if words[:1] not in (["CREATE"], ["ALTER"]) or "TABLE" not in words:
        return None
    clause = "WITH" if words[0] == "CREATE" else "SET"
    starts = [i + 2 for i, x in enumerate(tokens[:-1]) if x.upper == clause and tokens[i + 1].text == "("]
    if not starts or any(x.text == ")" for x in tokens[starts[-1] :]):
        return None
    return starts[-1]


def suggestions(context: OptionContext) -> list[tuple[str, str]]:
    """Return the allowed keys or values, each with a short description."""
    options = SETTINGS if context.is_setting else table_options(context.options)
    if context.key is None:
        return [(key, option.type) for key, option in options.items() if key not in context.options]
    if context.key in _FORMAT_KEYS and not context.is_setting:
        return [(identifier, "format") for identifier in FORMATS]
    option = options.get(context.key)
    return [(value, "default" if value == option.default else "") for value in option.allowed] if option else []


def table_options(values: dict[str, str]) -> dict[str, Option[Any]]:
    """Return the options of the connector and of the formats among the values, or of all formats without any."""
    formats = [(key, values[key]) for key in _FORMAT_KEYS if values.get(key) in FORMATS]
    options = {option.key: option for option in KAFKA_OPTIONS}
    for key, identifier in formats or [("format", name) for name in FORMATS]:
        prefix = key.removesuffix("format")
        options.update({prefix + option.key: option for option in FORMATS[identifier].options})
    return options
