"""Run statements about Kafka tables and tables of a lakehouse in one session, and check their rows.

As a program, with PySpark 4.1: ``python -m tests.lakehouse delta BOOTSTRAP_SERVERS FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.errors import KafkaSqlError, UnsupportedSqlError
from tests.lakehouse_targets import check_targets
from tests.topics import Topics

# package, extension of Spark and settings of spark_catalog; those of Delta as in configure_spark_with_delta_pip
_DELTA: Final = ("io.delta:delta-spark_4.1_2.13:4.1.0", "io.delta.sql.DeltaSparkSessionExtension")
_ICEBERG: Final = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)
_EXCLUDES: Final = "org.slf4j:*,org.apache.logging.log4j:*,com.google.code.findbugs:*"  # Spark has them
LAKEHOUSES: Final[dict[str, tuple[str, str, dict[str, str]]]] = {
    "delta": (*_DELTA, {"": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}),
    "iceberg": (
        *_ICEBERG,
        {"": "org.apache.iceberg.spark.SparkSessionCatalog", ".type": "hadoop", ".warehouse": "{folder}/iceberg"},
    ),
}


def check_kafka_tables(
    spark: SparkSession, topics: Topics, provider: str, folder: Path, has_streams: bool = True
) -> None:
    """Check reads, writes, joins, CTAS, streams and views of Kafka tables beside tables of a lakehouse.

    Args:
        spark: an enabled session.
        provider: the provider of the lakehouse's tables.
        folder: for checkpoints.
        has_streams: whether to check streams, too.
    """
    check_batches(spark, topics, provider)
    check_views(spark, provider)
    if has_streams:
        check_streams(spark, topics, provider, folder)
    of_streams = ("TABLE out", "TABLE lake_out") if has_streams else ()
    for statement in ("TABLE orders", "TABLE copy", "TEMPORARY TABLE temp", "TABLE lake", *of_streams):
        spark.sql(f"DROP {statement}")
    left = {table.name for table in spark.catalog.listTables()}
    assert not left & {"orders", "orders__kafka", "copy", "copy__kafka", "temp", "temp__kafka_temporary"}, left


def check_batches(spark: SparkSession, topics: Topics, provider: str) -> None:
    """Check batch queries, INSERT and CTAS in both directions, and statements about tables."""
    copies = topics.create()
    spark.sql(f"CREATE TABLE orders (id INT, doubled AS id * 2) {topics.with_options(topics.create())}")
    assert rows(spark, "SELECT * FROM orders") == []
    spark.sql("INSERT INTO orders VALUES (1), (2)")
    assert rows(spark, "SELECT * FROM default.orders ORDER BY id") == [(1, 2), (2, 4)]
    assert spark.table("orders").count() == 2
    spark.sql(f"CREATE TABLE lake USING {provider} AS SELECT * FROM orders")
    spark.sql("INSERT INTO orders (id) SELECT id + 10 FROM lake WHERE id = 2")
    assert rows(spark, "SELECT o.id, l.doubled FROM orders o LEFT JOIN lake l USING (id) ORDER BY 1") == [
        (1, 2),
        (2, 4),
        (12, None),
    ]
    spark.sql(f"CREATE TABLE copy {topics.with_options(copies)} AS SELECT id FROM lake")
    spark.sql("INSERT INTO lake SELECT id + 20, 0 FROM copy WHERE id = 1")
    assert rows(spark, "SELECT * FROM lake ORDER BY id") == [(1, 2), (2, 4), (21, 0)]
    spark.sql(f"CREATE TEMPORARY TABLE temp (id INT) {topics.with_options(copies)}")
    spark.sql("INSERT INTO temp VALUES (3)")
    assert rows(spark, "SELECT * FROM temp ORDER BY id") == [(1,), (2,), (3,)]
    spark.createDataFrame([(4,)], "id INT").write.format("kafka.copy").mode("append").save()
    assert rows(spark, "SELECT count(*) FROM copy") == [(4,)]
    assert rows(spark, "SELECT * FROM copy /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */") == []
    listed = {row.tableName for row in spark.sql("SHOW TABLES").collect()}
    assert {"orders", "copy", "temp"} <= listed
    assert not any("__kafka" in name for name in listed)
    assert [row[0] for row in spark.sql("DESCRIBE orders").collect()] == ["id", "doubled"]
    spark.sql("ALTER TABLE copy SET ('scan.startup.mode' = 'latest-offset')")
    assert rows(spark, "SELECT * FROM copy") == []
    check_error(spark, f"CREATE OR REPLACE TABLE orders USING {provider} AS SELECT 1 AS id", UnsupportedSqlError)
    other = kafka_sql.enable(spark.newSession())
    other.conf.set("spark.sql.catalog.spark_catalog", spark.conf.get("spark.sql.catalog.spark_catalog"))
    assert rows(other, "SELECT count(*) FROM orders") == [(3,)]


def check_views(spark: SparkSession, provider: str) -> None:
    """Check views over Kafka tables. Iceberg's catalog of files has no permanent views."""
    for kind in ("TEMPORARY VIEW",) if provider == "iceberg" else ("TEMPORARY VIEW", "VIEW"):
        spark.sql(f"CREATE {kind} many AS SELECT id FROM orders WHERE id > 1")
        assert rows(spark, "SELECT * FROM many ORDER BY id") == [(2,), (12,)]
        spark.sql("DROP VIEW many")


def check_streams(spark: SparkSession, topics: Topics, provider: str, folder: Path) -> None:
    """Check streams into the lakehouse and into Kafka, and a query within a micro-batch."""
    stream = spark.readStream.table("orders").writeStream.format(provider).trigger(availableNow=True)
    query = stream.option("checkpointLocation", f"{folder}/lake_out").toTable("lake_out")
    assert query.awaitTermination(120)
    assert rows(spark, "SELECT * FROM lake_out ORDER BY id") == [(1, 2), (2, 4), (12, 24)]
    counts: list[Any] = []

    def count(batch: Any, _: int) -> None:
        batch.createOrReplaceTempView("batch")
        counts.append(batch.sparkSession.sql("SELECT count(*) FROM batch JOIN orders USING (id)").first()[0])

    assert (
        spark.readStream.table("temp")
        .writeStream.foreachBatch(count)
        .trigger(availableNow=True)
        .start()
        .awaitTermination(120)
    )
    assert counts == [2]  # of ids 1 to 4
    spark.sql(f"CREATE TABLE out (id INT, doubled INT) {topics.with_options(topics.create())}")
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}/jobs'")
    spark.sql("INSERT INTO out SELECT o.id, l.doubled FROM orders o JOIN lake l ON l.id = o.id")
    (query,) = spark.streams.active
    query.processAllAvailable()
    query.stop()
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    assert rows(spark, "SELECT * FROM out ORDER BY id") == [(1, 2), (2, 4)]


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    return [tuple(row) for row in spark.sql(query).collect()]


def check_error(spark: SparkSession, statement: str, error: type[KafkaSqlError]) -> None:
    """Check that a statement fails."""
    try:
        spark.sql(statement)
    except error:
        return
    raise AssertionError(f"did not fail: {statement}")


def create_session(lakehouse: str, folder: str, master: str = "local[2]") -> SparkSession:
    """Create an enabled session whose session catalog is that of a lakehouse."""
    package, extension, catalog = LAKEHOUSES[lakehouse]
    builder = SparkSession.builder.master(master).config("spark.jars.packages", package)
    builder = builder.config("spark.sql.extensions", extension).config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.warehouse.dir", f"{folder}/warehouse")
    for key, value in catalog.items():
        builder = builder.config(f"spark.sql.catalog.spark_catalog{key}", value.format(folder=folder))
    return kafka_sql.enable(builder.config("spark.jars.excludes", _EXCLUDES).getOrCreate())


def main(lakehouse: str, bootstrap: str, folder: str) -> None:
    """Check a lakehouse in a new session."""
    spark = create_session(lakehouse, folder)
    check_kafka_tables(spark, Topics(bootstrap, lakehouse), lakehouse, Path(folder))
    check_targets(spark, Topics(bootstrap, lakehouse), lakehouse, Path(folder))
    spark.stop()
    print("passed with Spark", spark.version)


if __name__ == "__main__":
    main(*sys.argv[1:])
