"""Add Spark's Kafka connector and the Java classes of this package to a running Spark application."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.jar import add_jar, add_jar_file, load_class

LOCKFILE: Final = Path(__file__).with_name("connector.lock")
_CONNECTOR: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_CLASSES: Final = {  # of other jars
    "jackson-dataformat-csv": "com.fasterxml.jackson.dataformat.csv.CsvFactory",
    "protobuf-java": "com.google.protobuf.CodedInputStream",
}


def add_connector(context: Any, sink: str) -> Any:
    """Add the connector and libraries of formats to the driver and the executors, unless the application has them.

    The jars (12 MB) are downloaded into the user's cache once; their checksums are those of the lockfile.

    Args:
        context: the SparkContext.
        sink: the table that is written, for the error.

    Returns:
        the class loader of the driver's jars.

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
    missing = {name for name in (_CONNECTOR, *_CLASSES.values()) if load_class(loader, name) is None}
    for jar in kafka_jars(find_java(), LOCKFILE) if missing else ():
        if _CLASSES.get(jar.name.rpartition("-")[0], _CONNECTOR) in missing:
            add_jar_file(context, loader, jar)
    return loader
