"""The rack of the machine that reads: ``scan.rack-id``, asked for in the worker, as Flink's rack id supplier is on the
TaskManager.
"""

from __future__ import annotations

import os

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.options import allowed_paths
from kafka_sql.options import connector as opt
from kafka_sql.options.callables import import_callable


def resolve_rack_id(definition: Definition) -> str | None:
    """The rack of this process; None where the option is absent or names nothing, and 'properties.client.rack' counts.

    Raises:
        InvalidOptionError: the file cannot be read, there is no such callable, or it gives no text.
    """
    text = definition.options.get(opt.RACK_ID)
    if text is None:
        return None
    kind, _, name = text.partition(":")
    if kind == "env":
        return os.environ.get(name) or None
    if kind == "file":
        return _line(name)
    found = import_callable(opt.RACK_ID.key, text, "in the process that reads")()
    if found is not None and not isinstance(found, str):
        raise InvalidOptionError(
            f"Option '{opt.RACK_ID.key}' = '{text}': expected a text or None, and it gave {type(found).__name__}."
        )
    return found or None


def _line(path: str) -> str | None:
    try:
        return allowed_paths.read_allowed(path).decode().strip() or None
    except (OSError, UnicodeDecodeError) as e:
        why = getattr(e, "strerror", None) or "it is no text"
        raise InvalidOptionError(
            f"Option '{opt.RACK_ID.key}': file '{path}' cannot be read on this machine: {why}. Each machine that reads "
            "the table needs it."
        ) from None
