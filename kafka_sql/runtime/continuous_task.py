"""Record whether this process runs a task of a continuous query, which waits longer for a service that is down."""

from __future__ import annotations

_is_continuous = False  # a worker process runs one task at a time


def set_continuous_task(is_continuous: bool) -> None:
    """Set whether the task that starts now is one of a continuous query."""
    global _is_continuous
    _is_continuous = is_continuous


def is_continuous_task() -> bool:
    """Return whether this process runs a task of a continuous query. False on the driver and in batch queries."""
    return _is_continuous
