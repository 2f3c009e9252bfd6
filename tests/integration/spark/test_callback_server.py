"""Java's calls to Python require the JVM's secret."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from kafka_sql.spark.callback_server import start_callback_server

pytestmark = pytest.mark.integration


class Answer:
    class Java:
        implements = ("java.util.function.Supplier",)

    calls = 0

    def get(self) -> str:
        self.calls += 1
        return "answer"


def test_other_users_cannot_call_python(spark: Any) -> None:
    gateway = spark.sparkContext._gateway
    start_callback_server(gateway)
    start_callback_server(gateway)
    answer = Answer()
    future = gateway.jvm.java.util.concurrent.CompletableFuture.supplyAsync(answer)  # on a thread of Java
    assert (future.get(), answer.calls) == ("answer", 1)
    (name,) = (name for name, proxy in gateway.gateway_property.pool.dict.items() if proxy is answer)
    with socket.create_connection(gateway._callback_server.server_socket.getsockname()[:2], 10) as connection:
        connection.sendall(f"c\n{name}\nget\ne\n".encode())
        with pytest.raises(ConnectionResetError):
            connection.recv(100)
    assert answer.calls == 1
