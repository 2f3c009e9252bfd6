"""Functions of the user's own, which options name as ``module:callable``."""

from __future__ import annotations

import importlib
from typing import Any

from kafka_sql.errors import InvalidOptionError


def import_callable(option: str, text: str, where: str) -> Any:
    """The callable that an option names.

    Args:
        option: its key, for errors.
        where: which process looks for it, for errors: ``on the driver``.

    Raises:
        InvalidOptionError: there is no such module or callable.
    """
    module, _, name = text.partition(":")
    told = f"Option '{option}' = '{text}'"
    try:
        found: Any = importlib.import_module(module)
    except ImportError as e:
        raise InvalidOptionError(f"{told}: module '{module}' cannot be imported {where} ({e}).") from e
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise InvalidOptionError(f"{told}: module '{module}' has no callable '{name}'.")
    return found
