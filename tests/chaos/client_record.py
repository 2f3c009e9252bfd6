"""Record which Kafka client a driver reads and writes with, and which of its requests brokers throttled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

from kafka_sql.kafka import fetch, produce
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.options.connector import DIRECT, LIBRDKAFKA

# where each client is opened: module, function, access and client
_OPENERS: Final = (
    (fetch, "read_columnar", "read", DIRECT),
    (fetch, "read_columnar_or_raise", "read", DIRECT),
    (fetch, "read_to_end", "read", LIBRDKAFKA),
    (produce, "cached_direct_producer", "write", DIRECT),
    (produce, "open_direct_transaction", "write", DIRECT),
    (produce, "cached_producer", "write", LIBRDKAFKA),
    (produce, "open_transaction", "write", LIBRDKAFKA),
)
_CLIENTS: Final = "clients"  # folder with a file per access and client
_THROTTLED: Final = "throttled"  # folder with a file per API, with a throttle time in milliseconds per line


@contextmanager
def recorded_clients(folder: Path) -> Iterator[None]:
    """Patch the functions that open clients, so that each use is recorded.

    Args:
        folder: folder for the record; several processes may share it.
    """
    (folder / _CLIENTS).mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for module, name, access, client in _OPENERS:
            use = folder / _CLIENTS / f"{access} {client}"
            stack.enter_context(mock.patch.object(module, name, partial(_open, getattr(module, name), use)))
        yield


def used_clients(folder: Path) -> set[str]:
    """Return the recorded uses, such as "read direct" and "write librdkafka"."""
    return {path.name for path in (folder / _CLIENTS).iterdir()}


@contextmanager
def recorded_throttling(folder: Path) -> Iterator[None]:
    """Patch the direct client's connections, so that throttle times are recorded. Arguments: ``recorded_clients``."""
    (folder / _THROTTLED).mkdir(parents=True, exist_ok=True)
    receive, throttle = Connection.receive, Connection.throttle
    requests: dict[Connection, ApiKey] = {}

    def receive_and_note(connection: Connection, request: Any, *arguments: Any) -> Any:
        requests[connection] = request.key
        return receive(connection, request, *arguments)

    def throttle_and_record(connection: Connection, milliseconds: int) -> None:
        if milliseconds > 0:
            with (folder / _THROTTLED / ApiKey(requests[connection]).title).open("a") as file:
                file.write(f"{milliseconds}\n")
        throttle(connection, milliseconds)

    with (
        mock.patch.object(Connection, "receive", receive_and_note),
        mock.patch.object(Connection, "throttle", throttle_and_record),
    ):
        yield


def throttle_times(folder: Path) -> dict[str, int]:
    """Return the total throttle time of each API in milliseconds, such as of "Produce" and "Fetch"."""
    return {path.name: sum(map(int, path.read_text().split())) for path in (folder / _THROTTLED).iterdir()}


def _open(function: Callable[..., Any], use: Path, *arguments: Any, **keywords: Any) -> Any:
    use.touch()
    return function(*arguments, **keywords)
