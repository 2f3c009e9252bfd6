"""Wait for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT = 240.0  # seconds; most waits take a few
_POLL_INTERVAL = 0.1  # seconds


def wait_until(condition: Callable[[], object], description: str, timeout: float = TIMEOUT) -> None:
    """Poll until a condition is true.

    Raises:
        AssertionError: it was not true in time.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{description}: not within {timeout:g} s"
        time.sleep(_POLL_INTERVAL)
