"""Start Py4J's server for Java's calls to Python, and answer requests of executors in the driver's Python process.

Any local user can connect to the server, so it requires the secret of the JVM. PySpark starts it without: Java's client
drops the secret when Python announces its port.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaObject
from pyspark.java_gateway import ensure_callback_server_started

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.internal import Internal, JavaClass, PythonName
from kafka_sql.spark.jvm import JavaException

_IDLE_SECONDS = 30  # Py4J's default
_WHY = "Java's calls to Python must need the secret of the JVM"
_FAILS = "real-time mode and observe() fail with an AttributeError or an error of Py4J when they start"

INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName("pyspark.java_gateway.ensure_callback_server_started", _WHY, _FAILS, parameters=("gw",)),
    PythonName("py4j.clientserver.ClientServer._gateway_client", _WHY, _FAILS),
    PythonName("py4j.clientserver.ClientServer._callback_server", _WHY, _FAILS),
    JavaClass("py4j.Gateway", _WHY, _FAILS, members=("cbClient",)),
    JavaClass("py4j.PythonClient", _WHY, _FAILS, members=("new/11",)),
)


def start_callback_server(gateway: Any) -> None:
    """Start the server unless it is running, and let it and Java's client use the secret of the JVM."""
    ensure_started: Any = ensure_callback_server_started  # untyped in PySpark
    parameters, secret = gateway.callback_server_parameters, gateway.gateway_parameters.auth_token
    is_open = bool(secret) and not parameters.auth_token
    if is_open and not isinstance(gateway, ClientServer):  # without pinned threads, Java's client keeps the secret
        parameters.auth_token, is_open = secret, False
    ensure_started(gateway)
    if not is_open:
        return
    client = _create_client(gateway, secret)
    java_gateway = client.getGateway()
    field = java_gateway.getClass().getDeclaredField("cbClient")  # it has no setter
    field.setAccessible(True)
    parameters.auth_token = secret
    field.set(java_gateway, client)


def _create_client(gateway: Any, secret: str) -> Any:
    """Return a Java client that authenticates its connections."""
    jvm, server = gateway.jvm, JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    address, port = server.getCallbackClient().getAddress(), gateway._callback_server.port
    seconds, sockets = jvm.java.util.concurrent.TimeUnit.SECONDS, jvm.javax.net.SocketFactory.getDefault()
    return jvm.py4j.PythonClient(
        server.getGateway(), None, port, address, _IDLE_SECONDS, seconds, sockets, server, True, 0, secret
    )


class _Function:
    """A function that Java calls."""

    class Java:
        implements: Final = ["java.util.function.Function"]

    def __init__(self, function: Callable[[str], str]) -> None:
        self.apply = function

    def toString(self) -> str:
        """Return a text for Java's logs."""
        return type(self).__name__


def serve_requests(gateway: Any, name: str, answer: Callable[[str], str]) -> None:
    """Let tasks request texts from this process with ``WriterSchemas.java``.

    Args:
        name: what requests name.
        answer: returns the answer to a request.

    Raises:
        UnsupportedSqlError: this version of Spark does not have the methods that requests need.
    """
    start_callback_server(gateway)
    try:
        gateway.jvm.io.github.kafkasql.formats.confluent.WriterSchemas.add(name, _Function(answer))
    except JavaException as e:
        raise UnsupportedSqlError(
            "Real-time mode with a schema registry needs Spark's RPC, which cannot be used with this version of Spark: "
            f"{str(e.java_exception)[:200]}. SET 'execution.latency-mode' = 'micro-batch' to run it in micro-batches."
        ) from e
