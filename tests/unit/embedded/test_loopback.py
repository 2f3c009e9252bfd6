"""Test free ports."""

from __future__ import annotations

import socket

from kafka_sql.embedded.loopback import free_ports


def test_free_ports_can_be_bound() -> None:
    ports = free_ports(6)
    assert len(set(ports)) == 6
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()
