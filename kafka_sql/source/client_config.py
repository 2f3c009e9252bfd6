"""Configure the source's Kafka clients: client ids derived from ``client.id.prefix`` as in Flink, and the rack."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.split import SourceCluster
from kafka_sql.options import allow_lists
from kafka_sql.options import connector as opt
from kafka_sql.options.allow_lists import VARIABLES, import_callable, is_allowed_variable
from kafka_sql.options.secrets import mask_user_info

ENUMERATOR: Final = "enumerator-admin-client"


def client_config(definition: Definition, role: str, cluster: SourceCluster | None = None) -> Mapping[str, str]:
    """Return a table's client configuration with a client id for the role.

    Args:
        role: a task's number, or ``ENUMERATOR``.
        cluster: one of the clusters of a 'dynamic-kafka' table.
    """
    config = definition.client_config if cluster is None else cluster.config
    prefix = definition.options.get(opt.CLIENT_ID_PREFIX)
    if prefix is None and "client.id" not in config:
        prefix = definition.options.get(opt.GROUP_ID)
    if prefix is None:
        return config
    return {**config, "client.id": f"{prefix}-{role}" if cluster is None else f"{prefix}-{cluster.id}-{role}"}


def task_client_config(definition: Definition, task: int, cluster: SourceCluster | None = None) -> Mapping[str, str]:
    """Return the client configuration of a task, with the rack of the current process.

    Raises:
        InvalidOptionError: the source of 'scan.rack-id' is not allowed, its file could not be read in this process, or
            its callable was not found or did not return a string.
    """
    config, rack = client_config(definition, str(task), cluster), _resolve_rack_id(definition)
    return config if rack is None else {**config, "client.rack": rack}


def _resolve_rack_id(definition: Definition) -> str | None:
    """Return the rack of this process, as Flink's rack id supplier; if it is None, 'properties.client.rack' applies."""
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
        return allow_lists.read_allowed(path).decode().strip() or None
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "it is not UTF-8"
        raise InvalidOptionError(
            f"Option '{opt.RACK_ID.key}': file '{mask_user_info(path)}' cannot be read on this machine: {reason}. "
            "Create it on each machine that reads the table.",
            option=opt.RACK_ID.key,
        ) from None
