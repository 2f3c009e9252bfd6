"""Start Py4J's server for Java's calls to Python, which any local user can connect to, so that it requires the secret.

PySpark starts the server without: Java's client drops the secret when Python announces its port.
"""

from __future__ import annotations

from typing import Any, Final

from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaObject
from pyspark.java_gateway import ensure_callback_server_started

from kafka_sql.spark.internal import Internal, JavaClass, PythonName

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
    """Start the server unless it is running, and let it and Java's client use the secret of the JVM.

    Args:
        gateway: Py4J's gateway to the session's JVM.
    """
    ensure_started: Any = ensure_callback_server_started  # untyped in PySpark
    parameters, secret = gateway.callback_server_parameters, gateway.gateway_parameters.auth_token
    if not secret or parameters.auth_token:
        ensure_started(gateway)
        return
    if not isinstance(gateway, ClientServer):  # without pinned threads, Java's client keeps the secret
        parameters.auth_token = secret
        ensure_started(gateway)
        return
    ensure_started(gateway)
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
