"""Record whether a task of a continuous query is running, which waits longer for a service that is down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_is_continuous = False  # a worker process runs one task at a time
_serves_task: Final = ContextVar("serves_task", default=False)


def set_continuous_task(is_continuous: bool) -> None:
    """Set whether the task that starts now is one of a continuous query."""
    global _is_continuous
    _is_continuous = is_continuous


@contextmanager
def serving_continuous_task() -> Iterator[None]:
    """Make ``is_continuous_task`` return True in this thread, in which the driver answers a request of such a task."""
    token = _serves_task.set(True)
    try:
        yield
    finally:
        _serves_task.reset(token)


def is_continuous_task() -> bool:
    """Return whether this process runs a task of a continuous query, or this thread answers its request.

    False in other threads of the driver, and in batch queries.
    """
    return _is_continuous or _serves_task.get()
