"""Recover errors that arrived as text, such as those of Spark's tasks and planners, with the attributes they name."""

from __future__ import annotations

import re
from typing import Final

from kafka_sql.errors import DecodeError, KafkaSqlError

# How messages name the facts that are attributes.
_FACTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<topic>[\w.-]+)\[(?P<partition>\d+)\](?:@(?P<offset>\d+))?",
        r"\b[Tt]opic '(?P<topic>[^']+)'",
        r"\b[Tt]able '(?P<table>[^']+)'",
        r"\b[Oo]ption '(?P<option>[^']+)'",
        r"\b[Cc]olumn '(?P<column>[^']+)'",
        r"\b(?:[Ff]ield|[Cc]olumn) '(?P<field>[^']+)'",
        r"\b(?:on|of) '?(?P<servers>[\w.-]+:\d+(?:,[\w.-]+:\d+)*)",
    )
)
_DECODE_MESSAGE: Final = re.compile(
    r"(?:record (?P<row>\d+) of the buffer|(?P<where>\S+\[\d+\]@\d+(?: \(key\))?))"
    r"(?:, field '(?P<field>.*?)')?: (?P<reason>.*?)(?P<advice> \(to tolerate such records, .*\))?",
    re.DOTALL,
)


def error_from_message(error_class: type[KafkaSqlError], message: str) -> KafkaSqlError:
    """Return an error of a class with a message, and with the attributes that the message names."""
    if issubclass(error_class, DecodeError):
        return _decode_error(error_class, message)
    error = error_class(message)
    attributes = vars(error)
    for match in filter(None, (pattern.search(message) for pattern in _FACTS)):
        for name, text in match.groupdict().items():
            if text is not None and attributes.get(name, "") is None:
                attributes[name] = int(text) if name in ("partition", "offset") else text
    return error


def _decode_error(error_class: type[DecodeError], message: str) -> DecodeError:
    match = _DECODE_MESSAGE.fullmatch(message)
    if match is None:
        return error_class(-1, None, message).with_message(message)
    row = int(match["row"] or -1)
    return error_class(row, match["field"], match["reason"], match["where"]).with_message(message)
