"""Import user-defined functions that options name as ``module:callable``."""

from __future__ import annotations

import importlib
from typing import Any

from kafka_sql.errors import InvalidOptionError
from kafka_sql.options.allow_lists import MODULES, is_allowed_module
from kafka_sql.options.secrets import mask_user_info


def import_callable(option: str, text: str, where: str, advice: str = "") -> Any:
    """Import the callable that an option names.

    Args:
        option: the option's key, for errors.
        where: the importing process, for errors, such as ``on the driver``.
        advice: what to do if the module cannot be imported, as a sentence after a blank.

    Raises:
        InvalidOptionError: the module or the callable was not found, or is not allowed.
    """
    module, _, name = text.partition(":")
    prefix = f"Option '{option}' = '{mask_user_info(text)}'"
    if not is_allowed_module(module):
        raise InvalidOptionError(f"{prefix}: {MODULES} does not allow module '{module}'.", option=option)
    try:
        target: Any = importlib.import_module(module)
    except ImportError as e:
        raise InvalidOptionError(
            f"{prefix}: module '{module}' cannot be imported {where} ({e}).{advice}", option=option
        ) from e
    for part in name.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        raise InvalidOptionError(f"{prefix}: module '{module}' has no callable '{name}'.", option=option)
    # an allowed module may have imported functions of others
    if not is_allowed_module(getattr(target, "__module__", None) or ""):
        raise InvalidOptionError(
            f"{prefix}: the callable is defined in a module that {MODULES} does not allow.", option=option
        )
    return target
