"""Answer requests of executors in the driver's Python process, by Spark's RPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.callback_server import start_callback_server
from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jvm import JavaException

_WHY = "executors request schemas from the driver, because they have neither the registry's address nor its credentials"
_FAILS = "real-time queries over tables with a schema registry are refused before they start"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass("org.apache.spark.SparkEnv", _WHY, _FAILS, members=("get/0", "rpcEnv/0", "conf/0")),
    JavaClass("org.apache.spark.rpc.RpcEnv", _WHY, _FAILS, members=("setupEndpoint/2",)),
    JavaClass("org.apache.spark.rpc.RpcEndpoint", _WHY, _FAILS, members=("rpcEnv/0", "receiveAndReply/1")),
    JavaClass("org.apache.spark.rpc.RpcEndpointRef", _WHY, _FAILS, members=("askSync/2",)),
    JavaClass("org.apache.spark.rpc.RpcCallContext", _WHY, _FAILS, members=("reply/1", "sendFailure/1")),
    JavaClass("org.apache.spark.util.RpcUtils", _WHY, _FAILS, members=("makeDriverRef/3",)),
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
        gateway: Py4J's gateway to the session's JVM.
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
