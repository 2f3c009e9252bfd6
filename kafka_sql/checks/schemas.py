"""The schema registry of a table's formats: whether it answers, and whether its schemas fit the table's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa

from kafka_sql.checks.finding import Finding, open_connection, run_check
from kafka_sql.definition import Definition
from kafka_sql.errors import KafkaSqlError, SchemaRegistryError
from kafka_sql.formats.payload import Payload
from kafka_sql.options import Option
from kafka_sql.options.secret_references import resolve

_PORTS: Final = {"http": 80, "https": 443}


def check_schemas(definition: Definition, schema: pa.Schema) -> Iterator[Finding]:
    """Look at the key's and the value's registry, where they have one.

    Args:
        schema: the columns that are written, as Arrow's.
    """
    payloads = {"key": definition.key, "value": definition.value}
    for part, payload in payloads.items():
        if payload is not None:
            for url in payload.format.options:
                if url.key == f"{payload.format.identifier}.url":
                    yield from _registry(definition.name, part, payload, url, schema)


def _registry(table: str, part: str, payload: Payload, url: Option[Any], schema: pa.Schema) -> Iterator[Finding]:
    reachable = [
        run_check(table, f"registry of the {part}", partial(_connect, resolve(address, url.key)))
        for address in payload.options[url]
    ]
    yield from reachable
    if not any(finding.ok for finding in reachable):
        return
    yield _asked(table, f"schema of the {part}, to read", payload, schema, "decoder", "check_readable")
    yield _asked(table, f"schema of the {part}, to write", payload, schema, "encoder", "check_compatible")


def _asked(table: str, what: str, payload: Payload, schema: pa.Schema, kind: str, question: str) -> Finding:
    try:
        coder = getattr(payload, kind)(schema)
    except KafkaSqlError as e:
        return Finding(table, what, False, str(e))
    ask = getattr(coder, question, None)
    if ask is None:
        return Finding(table, what, None, f"format '{payload.format.identifier}' does not tell")
    return run_check(table, what, ask)


def _connect(address: str) -> str:
    parts = urlsplit(address)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    where = f"{parts.hostname}:{port}"
    try:
        open_connection(parts.hostname, port)
    except (OSError, ValueError) as e:
        raise SchemaRegistryError(f"{where}: {e}. Check the format's option 'url' and the network.") from e
    return f"{where}: a connection can be made"
