"""Find free TCP ports on the loopback address."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from typing import Final

from kafka_sql.errors import EmbeddedKafkaError

HOST: Final = "127.0.0.1"

# Outside of the ranges from which Linux and macOS assign ports. When a broker is stopped, its clients still try to
# connect; a server that lets the system choose its port must not get that of the broker.
_PORTS: Final = range(20_000, 32_000)
_ATTEMPTS: Final = 1_000
_MAX_PORT: Final = 65_535


def check_port(port: int) -> None:
    """Check that a port of 127.0.0.1 is free.

    Raises:
        EmbeddedKafkaError: there is no such port, another program uses it, or this user may not listen on it.
    """
    if not 0 < port <= _MAX_PORT:
        raise EmbeddedKafkaError(f"There is no port {port}. Use one from 1024 to {_MAX_PORT}.")
    try:
        socket.create_server((HOST, port)).close()
    except OSError as error:
        raise EmbeddedKafkaError(
            f"Port {port} of {HOST} cannot be used: {os.strerror(error.errno or 0)}. Use another port, or end the "
            "program that listens on it, perhaps another broker."
        ) from error


def free_ports(count: int) -> list[int]:
    """Return different ports of 127.0.0.1 that are currently free, chosen at random.

    Raises:
        OSError: too few ports are free.
    """
    with contextlib.ExitStack() as stack:
        ports = list[int]()
        for port in random.sample(_PORTS, _ATTEMPTS):
            if len(ports) == count:
                return ports
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server((HOST, port)))
                ports.append(port)
    raise OSError(f"found {len(ports)} instead of {count} free ports from {_PORTS.start} to {_PORTS.stop - 1}")
