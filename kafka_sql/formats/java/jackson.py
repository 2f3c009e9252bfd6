"""Parse JSON documents as Jackson does."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

T = TypeVar("T")

MAX_DEPTH: Final = 1000  # Jackson's limit on nested objects and arrays
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class Number(str):
    """A number of the document, as it is written. A string of the document is a plain ``str``."""

    __slots__ = ()


class Integral(Number):
    """A number without a fraction or an exponent."""

    __slots__ = ()


class Fractional(Number):
    """A number with a fraction or an exponent."""

    __slots__ = ()


def _reject(token: str) -> NoReturn:
    raise ValueError(f"is not valid JSON: {token} is not a JSON number")


# Not strict, because Flink allows control characters in strings. If a name is repeated, the last one counts.
_DECODER: Final = json.JSONDecoder(parse_int=Integral, parse_float=Fractional, parse_constant=_reject, strict=False)


def parse_document(payload: bytes) -> Any:
    """Parse the first JSON value of a payload. Flink ignores what follows it.

    The encoding is UTF-8; or UTF-16 or UTF-32 if the first bytes indicate it, as in Jackson.

    Raises:
        ValueError: the payload is not JSON. The message is a predicate, such as "is not valid JSON".
    """
    try:
        text = payload.decode(json.detect_encoding(payload))
    except UnicodeDecodeError as e:
        raise ValueError(f"is not {e.encoding}: byte 0x{payload[e.start]:02x} at {e.start}") from e
    if len(text) > MAX_DEPTH:
        # Imported here, so that a planner, which parses schemas, does not load the compiler.
        from kafka_sql.formats.java.text_kernels import nesting_depth

        if nesting_depth(np.frombuffer(text.encode(), np.uint8), MAX_DEPTH) > MAX_DEPTH:
            raise ValueError(f"is nested deeper than {MAX_DEPTH}")
    match = _SPACE.match(text)
    start = match.end() if match else 0
    if start == len(text):
        raise ValueError("is blank, expected a JSON object")
    try:
        return with_deep_recursion(lambda: _DECODER.raw_decode(text, start)[0])
    except json.JSONDecodeError as e:
        raise ValueError(f"is not valid JSON: {e.msg} at character {e.pos}") from e


def with_deep_recursion(run: Callable[[], T]) -> T:
    """Run a function that recurses as deep as a document may be nested, raising the interpreter's limit if needed."""
    try:
        return run()
    except RecursionError:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 5 * MAX_DEPTH)
        try:
            return run()
        finally:
            sys.setrecursionlimit(limit)
