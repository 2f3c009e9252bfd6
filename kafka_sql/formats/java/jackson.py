"""A payload as a parsed JSON document, with Jackson's idea of what JSON is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

T = TypeVar("T")

MAX_DEPTH: Final = 1000  # of nested objects and arrays: Jackson's limit
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class Number(str):
    """A number as it is written; no text of the document is one."""

    __slots__ = ()


class Integral(Number):
    """A number without fraction and exponent."""

    __slots__ = ()


class Fractional(Number):
    """A number with a fraction or an exponent."""

    __slots__ = ()


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is no JSON")


# Not strict, as Flink lets control characters stand in texts. Of repeated names the last one counts.
_DECODER: Final = json.JSONDecoder(parse_int=Integral, parse_float=Fractional, parse_constant=_refuse, strict=False)


def parse_document(payload: bytes) -> Any:
    """The first JSON value of a payload; Flink does not look at what follows it.

    The encoding is UTF-8, or UTF-16 or UTF-32 where the first bytes say so, as in Jackson.

    Raises:
        ValueError: says why the payload is no JSON.
    """
    try:
        text = payload.decode(json.detect_encoding(payload))
    except UnicodeDecodeError as e:
        raise ValueError(f"is not {e.encoding}: byte 0x{payload[e.start]:02x} at {e.start}") from e
    if len(text) > MAX_DEPTH:
        from kafka_sql.formats.json.nesting import deepest  # here: a planner, which parses schemas, loads no compiler

        if deepest(np.frombuffer(text.encode(), np.uint8), MAX_DEPTH) > MAX_DEPTH:
            raise ValueError(f"is nested deeper than {MAX_DEPTH}")
    match = _SPACE.match(text)
    start = match.end() if match else 0
    if start == len(text):
        raise ValueError("is blank, expected a JSON object")
    try:
        return with_deep_recursion(lambda: _DECODER.raw_decode(text, start)[0])
    except json.JSONDecodeError as e:
        raise ValueError(f"is no JSON: {e.msg} at character {e.pos}") from e


def with_deep_recursion(run: Callable[[], T]) -> T:
    """Run something that recurses as deep as a document may be, whatever is left of the interpreter's stack."""
    try:
        return run()
    except RecursionError:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 5 * MAX_DEPTH)
        try:
            return run()
        finally:
            sys.setrecursionlimit(limit)
