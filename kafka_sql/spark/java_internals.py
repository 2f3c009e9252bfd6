"""The private parts of Spark that the Java classes of this package use (``java/src/main``).

The compiler checks them against the oldest supported Spark, and a test against the installed one.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.spark.internal import Internal, java_classes

INTERNALS: Final[tuple[Internal, ...]] = (
    *java_classes(
        """
        org.apache.spark.sql.execution.datasources.v2.python.PythonTable ds
        org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2 setReadInfo/1
        """,
        "each micro-batch reads joined tables as they are then",
        "queries that join a table are rejected before they start",
    ),
    *java_classes(
        """
        org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution currentBatchId/0 runId/0
        org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution prevOffsetSeqMetadata/0
        org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution offsetSeqMetadata/0
        org.apache.spark.sql.execution.streaming.runtime.StreamExecution lastExecution/0
        """,
        "the rows that aggregates drop because they are late are counted one by one",
        "Spark's number is reported",
    ),
    *java_classes(
        """
        org.apache.spark.SparkEnv get/0 rpcEnv/0 conf/0
        org.apache.spark.rpc.RpcEnv setupEndpoint/2
        org.apache.spark.rpc.RpcEndpoint rpcEnv/0 receiveAndReply/1
        org.apache.spark.rpc.RpcEndpointRef askSync/2
        org.apache.spark.rpc.RpcCallContext reply/1 sendFailure/1
        org.apache.spark.util.RpcUtils makeDriverRef/3
        """,
        "executors request the schemas of a registry, whose address and credentials only the driver has",
        "real-time queries over tables with a schema registry are rejected before they start",
    ),
    *java_classes(
        "org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog createTable/2",
        "a second session catalog loads Kafka tables, if the first one is not Spark's",
        "such sessions fail at CREATE TABLE",
    ),
    *java_classes(
        """
        org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager createTempFile/1
        org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager renameTempFile/3
        """,
        "checkpoints on a local disk are written without other processes",
        "streaming queries fail before they start",
    ),
    *java_classes(
        "org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter resetRowWriter/0 getRow/0",
        "operators keep rows as Spark's own bytes",
        "queries that need these operators fail before they start",
    ),
    *java_classes(
        "org.apache.spark.sql.catalyst.parser.ParserInterface parsePlan/1",
        "Spark's shells pass statements to Python first",
        "the shells do not start",
    ),
)
