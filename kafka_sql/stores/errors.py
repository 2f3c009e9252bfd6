"""Why a store cannot be read, and which of its options that is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class Part(Enum):
    """What of a store to look at."""

    CONTENT = "content"
    PASSWORD = "password"
    KEY_PASSWORD = "key password"


class UnreadableStore(Exception):
    """A store cannot be used; the message has a reason and nothing of the content."""

    def __init__(self, reason: str, part: Part = Part.CONTENT) -> None:
        super().__init__(reason)
        self.part = part


@contextmanager
def unless_it_panics(reason: str, part: Part = Part.CONTENT) -> Iterator[None]:
    """cryptography's Rust gives up on some damaged files by a panic, which is no Exception.

    Raises:
        UnreadableStore: it did.
    """
    try:
        yield
    except BaseException as e:
        if type(e).__name__ != "PanicException":
            raise
        raise UnreadableStore(reason, part) from None
