"""Mask the values of options in statements and messages, except those of known options that are not secret."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES
from kafka_sql.options.connector import DYNAMIC_OPTIONS, KAFKA_OPTIONS, UPSERT_OPTIONS
from kafka_sql.options.secrets import MASK, PAIR_PARTS, is_secret, mask_value, secrets_pattern, values_pattern

_PUBLIC: Final = ("execution.", "pipeline.", "table.", "sql-client.", "parallelism.", "sink.topic.config.")
_HARMLESS: Final = re.compile(r"\d{1,3} ?(?:ms|s|min|h|d|[kmg]?b)?|true|false", re.IGNORECASE)
_STATEMENT: Final = re.compile(secrets_pattern())
_MESSAGE: Final = re.compile(values_pattern())
_PAIR: Final = re.compile(PAIR_PARTS)


def mask_statement(text: str) -> str:
    """Return a statement, which need not parse, without values that may be secret.

    In a correct list of options, the values of known options stay. After a typo, the rest of the text is masked.
    """
    return _STATEMENT.sub(_mask, text)


def mask_prose(text: str) -> str:
    """Return a message without values that may be secret, wherever they appear as options or in URLs."""
    return _MESSAGE.sub(_mask, text)


def find_secrets(text: str) -> list[str]:
    """Return the values of options in a message that may be secret, without quotes."""
    pairs = [(match[1][1:-1], match[3][1:-1]) for match in _PAIR.finditer(text)]
    columns = [match[0][len(match[2]) :].strip("'\"") for match in _MESSAGE.finditer(text) if match[2]]
    return [value for key, value in pairs if _show(key, value) != value] + columns


def _mask(match: re.Match[str]) -> str:
    if match[1]:
        return _PAIR.sub(lambda pair: pair[1] + pair[2] + _mask_literal(pair[1][1:-1], pair[3]), match[1])
    if match[0].startswith("://"):
        return f"://{MASK}@"
    prefix = match[2] or match[3] or match[4] or ""
    return prefix + (_mask_literal(prefix.strip(" =`'\""), match[0][len(prefix) :]) if prefix else MASK)


def _mask_literal(key: str, literal: str) -> str:
    quote = literal[:1] if literal[:1] in ("'", '"') else ""
    return f"{quote}{_show(key, literal.strip(quote) if quote else literal)}{quote}"


def _show(key: str, value: str) -> str:
    """Return the value of an option as it may be shown."""
    name = key.lower()
    if is_secret(name) or "-----BEGIN" in value or (name.endswith("properties") and ":" in value):
        return MASK  # also lists of properties
    if name in _public_keys() or name.startswith(_PUBLIC):
        return mask_value(name, value)
    return value if _HARMLESS.fullmatch(value) else MASK


@cache
def _public_keys() -> frozenset[str]:
    options = [option for format_ in FORMATS.values() for option in format_.options]
    keys = [key for option in (*KAFKA_OPTIONS, *UPSERT_OPTIONS, *DYNAMIC_OPTIONS, *options) for key in option.keys]
    payloads = [f"{payload}.{key}" for payload in ("key", "value") for option in options for key in option.keys]
    return frozenset((*keys, *payloads, *(f"properties.{name}" for name in JAVA_PROPERTIES)))
