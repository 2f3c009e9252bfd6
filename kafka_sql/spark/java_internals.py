"""The private parts of Spark that the Java classes of this package use (``java/src/main``).

The compiler checks them against the oldest supported Spark, and a test against the installed one.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.spark.internal import Internal, JavaClass

_REFRESH: Final = "each micro-batch reads joined tables as they are then"
_NOT_REFRESHED: Final = "queries that join a table are rejected before they start"
_LATE: Final = "the rows that aggregates drop because they are late are counted one by one"
_NOT_COUNTED: Final = "Spark's number is reported"
_SCHEMAS: Final = "executors request the schemas of a registry from the driver in real-time mode"
_NO_SCHEMAS: Final = "such queries fail before they start"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        "org.apache.spark.sql.execution.datasources.v2.python.PythonTable", _REFRESH, _NOT_REFRESHED, members=("ds",)
    ),
    JavaClass(
        "org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2",
        _REFRESH,
        _NOT_REFRESHED,
        members=("setReadInfo/1",),
    ),
    JavaClass(
        "org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution",
        _LATE,
        _NOT_COUNTED,
        members=("currentBatchId/0", "runId/0", "prevOffsetSeqMetadata/0", "offsetSeqMetadata/0"),
    ),
    JavaClass(
        "org.apache.spark.sql.execution.streaming.runtime.StreamExecution",
        _LATE,
        _NOT_COUNTED,
        members=("lastExecution/0",),
    ),
    JavaClass("org.apache.spark.rpc.RpcEnv", _SCHEMAS, _NO_SCHEMAS, members=("setupEndpoint/2",)),
    JavaClass("org.apache.spark.rpc.RpcEndpointRef", _SCHEMAS, _NO_SCHEMAS, members=("askSync/2",)),
    JavaClass("org.apache.spark.util.RpcUtils", _SCHEMAS, _NO_SCHEMAS, members=("makeDriverRef/3",)),
    JavaClass(
        "org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog",
        "a second session catalog loads Kafka tables, if the first one is not Spark's",
        "such sessions fail at CREATE TABLE",
        members=("createTable/2",),
    ),
    JavaClass(
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
        "checkpoints on a local disk are written without other processes",
        "streaming queries fail before they start",
        members=("createTempFile/1", "renameTempFile/3"),
    ),
    JavaClass(
        "org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter",
        "operators keep rows as Spark's own bytes",
        "queries that need these operators fail before they start",
        members=("resetRowWriter/0", "getRow/0"),
    ),
    JavaClass(
        "org.apache.spark.sql.catalyst.parser.ParserInterface",
        "Spark's shells pass statements to Python first",
        "the shells do not start",
        members=("parsePlan/1",),
    ),
)
