"""Import user-defined functions that options name as ``module:callable``."""

from __future__ import annotations

import importlib
from typing import Any

from kafka_sql.errors import InvalidOptionError


def import_callable(option: str, text: str, where: str) -> Any:
    """Import the callable that an option names.

    Args:
        option: the option's key, for errors.
        where: the importing process, for errors, such as ``on the driver``.

    Raises:
        InvalidOptionError: the module or the callable was not found.
    """
    module, _, name = text.partition(":")
    prefix = f"Option '{option}' = '{text}'"
    try:
        target: Any = importlib.import_module(module)
    except ImportError as e:
        raise InvalidOptionError(f"{prefix}: module '{module}' cannot be imported {where} ({e}).") from e
    for part in name.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        raise InvalidOptionError(f"{prefix}: module '{module}' has no callable '{name}'.")
    return target
