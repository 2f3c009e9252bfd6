"""Resolve the rack of a reader in its worker process ('scan.rack-id'), like Flink's rack id supplier."""

from __future__ import annotations

import os

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.options import allowed_paths
from kafka_sql.options import connector as opt
from kafka_sql.options.allow_lists import VARIABLES, is_allowed_variable
from kafka_sql.options.callables import import_callable
from kafka_sql.options.secrets import mask_user_info


def resolve_rack_id(definition: Definition) -> str | None:
    """Return the rack of this process. If it is None, 'properties.client.rack' applies.

    It is None if the option is not set, the variable is not set or empty, the file is empty, or the callable returns no
    rack.

    Raises:
        InvalidOptionError: the file could not be read, the callable was not found or did not return a string, or the
            source is not allowed.
    """
    text = definition.options.get(opt.RACK_ID)
    if text is None:
        return None
    source, _, name = text.partition(":")
    if source == "env":
        return _read_variable(name)
    if source == "file":
        return _read_file(name)
    rack = import_callable(opt.RACK_ID.key, text, "in the process that reads")()
    if rack is not None and not isinstance(rack, str):
        raise InvalidOptionError(
            f"Option '{opt.RACK_ID.key}' = '{text}': the callable must return a string or None, and returned "
            f"{type(rack).__name__}.",
            option=opt.RACK_ID.key,
        )
    return rack or None


def _read_variable(name: str) -> str | None:
    if not is_allowed_variable(name):
        raise InvalidOptionError(
            f"Option '{opt.RACK_ID.key}': {VARIABLES} does not allow the environment variable '{name}'.",
            option=opt.RACK_ID.key,
        )
    return os.environ.get(name) or None


def _read_file(path: str) -> str | None:
    try:
        return allowed_paths.read_allowed(path).decode().strip() or None
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "it is not UTF-8"
        raise InvalidOptionError(
            f"Option '{opt.RACK_ID.key}': file '{mask_user_info(path)}' cannot be read on this machine: {reason}. "
            "Create it on each machine that reads the table.",
            option=opt.RACK_ID.key,
        ) from None
