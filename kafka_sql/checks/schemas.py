"""Check the schema registries of a table's formats: connectivity, and compatibility with the table's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def check_schemas(definition: Definition, schema: pa.Schema) -> Iterator[Finding]:
    """Check the registries of the key's and the value's format, if they have one, for the schema of written columns."""
    for part, payload in (("key", definition.key), ("value", definition.value)):
        if payload is not None and (url_option := _url_option(payload)) is not None:
            yield from _check_registry(definition.name, part, payload, url_option, schema)


def _url_option(payload: Payload) -> Option[Any] | None:
    """Return the option with the registry's addresses; None if the format has no registry."""
    key = f"{payload.format.identifier}.url"
    return next((option for option in payload.format.options if option.key == key), None)


def _check_registry(
    table: str, part: str, payload: Payload, url_option: Option[Any], schema: pa.Schema
) -> Iterator[Finding]:
    connections = [
        run_check(table, f"registry of the {part}", partial(_check_connection, address, url_option.key))
        for address in payload.options[url_option]
    ]
    yield from connections
    if not any(finding.ok for finding in connections):
        return
    for subject, create_check in (
        (f"schema of the {part}, to read", _create_read_check),
        (f"schema of the {part}, to write", _create_write_check),
    ):
        try:
            check = create_check(payload, schema)
        except KafkaSqlError as e:
            yield Finding(table, subject, False, str(e))
            continue
        if check is None:
            yield Finding(table, subject, None, f"not supported by format '{payload.format.identifier}'")
        else:
            yield run_check(table, subject, check)


def _create_read_check(payload: Payload, schema: pa.Schema) -> Callable[[], str] | None:
    """Return a check that records can be read; None if the decoder does not support it."""
    return getattr(payload.create_decoder(schema), "check_readable", None)


def _create_write_check(payload: Payload, schema: pa.Schema) -> Callable[[], str] | None:
    """Return a check that rows can be written; None if the encoder does not support it."""
    return getattr(payload.create_encoder(schema), "check_compatible", None)


def _check_connection(address: str, option: str) -> str:
    url = urlsplit(resolve(address, option))
    try:
        port = url.port or _DEFAULT_PORTS.get(url.scheme, 0)
    except ValueError:  # its message may contain a part of the password
        raise SchemaRegistryError("The format's option 'url' has an invalid port.") from None
    location = f"{url.hostname}:{port}"
    try:
        open_connection(url.hostname, port)
    except (OSError, ValueError) as e:
        raise SchemaRegistryError(f"{location}: {e}. Check the format's option 'url' and the network.") from e
    return f"connected to {location}"
