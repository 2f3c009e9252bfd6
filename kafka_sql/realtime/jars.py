"""Add Spark's Kafka connector and the Java classes of this package to a running Spark application."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.jar import add_jar, load_class

LOCKFILE: Final = Path(__file__).with_name("connector.lock")
_CONNECTOR: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


def add_connector(context: Any, sink: str) -> Any:
    """Add the connector to the driver and the executors, unless the application has it. Return the class loader.

    The jars (10 MB) are downloaded into the user's cache once; their checksums are those of the lockfile.

    Args:
        context: the SparkContext.
        sink: the table that is written, for the error.

    Raises:
        UnsupportedSqlError: the driver's class loader does not accept jars.
        EmbeddedKafkaError: the jars could not be downloaded.
    """
    loader = add_jar(context)
    if loader is None:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': real-time mode needs Spark's Kafka connector, which this driver's class loader "
            "does not accept. Start the session with pyspark or spark-submit.",
            table=sink,
        )
    if load_class(loader, _CONNECTOR) is None:
        jvm, is_local = context._jvm, context._jsc.sc().isLocal()
        for jar in kafka_jars(find_java(), LOCKFILE):
            loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
            if not is_local:
                context._jsc.addJar(str(jar))
    return loader
