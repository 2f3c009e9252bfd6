"""Define the error for unreadable stores, and which of the store's options caused it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class StorePart(Enum):
    """The part of a store that is wrong."""

    CONTENT = "content"
    PASSWORD = "password"
    KEY_PASSWORD = "key password"


class UnreadableStore(Exception):
    """A store cannot be used. The message has the reason, but none of the content."""

    def __init__(self, reason: str, part: StorePart = StorePart.CONTENT) -> None:
        super().__init__(reason)
        self.part = part


@contextmanager
def catch_rust_panic(reason: str, part: StorePart = StorePart.CONTENT) -> Iterator[None]:
    """Convert a panic of cryptography's Rust code, which is not an ``Exception``, for some damaged files.

    Raises:
        UnreadableStore: the block panicked.
    """
    try:
        yield
    except BaseException as e:
        if type(e).__name__ != "PanicException":
            raise
        raise UnreadableStore(reason, part) from None
