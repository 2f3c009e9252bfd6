"""The loopback address, and free TCP ports on it."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

HOST: Final = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return different ports of 127.0.0.1 that are currently free."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in sockets]
