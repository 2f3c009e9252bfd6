"""Loops that numba compiles: at first use, and the result is kept in its cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """numba.njit, cached where numba finds a folder that it can write (a locked-down executor may have none)."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # "cannot cache function: no locator available"
        return cast(F, numba.njit(nogil=True)(function))
