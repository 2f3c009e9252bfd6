"""Check an installation with an embedded Kafka: ``python smoke.py VERSION``, outside of the project folder."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.spark.jar import add_jar, java_classes


def main() -> None:
    """Write rows to a topic and read them back.

    Raises:
        AssertionError: the version or the rows are not as expected, or the package is not the installed one.
    """
    assert kafka_sql.__version__ == sys.argv[1], f"{kafka_sql.__version__} is installed instead of {sys.argv[1]}"
    assert Path(str(kafka_sql.__file__)).is_relative_to(sys.prefix), f"{kafka_sql.__file__} is not in {sys.prefix}"
    with EmbeddedKafka() as kafka:
        spark = kafka_sql.enable(SparkSession.builder.master("local[2]").getOrCreate())
        spark.sql(f"""
          CREATE TABLE orders (order_id BIGINT, price DECIMAL(10, 2), twice AS price * 2) WITH (
            'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = '{kafka.bootstrap_servers}',
            'scan.startup.mode' = 'earliest-offset', 'sink.topic.create' = 'true', 'format' = 'json'
          )""")
        spark.sql("INSERT INTO orders VALUES (1, 9.99), (2, 120.00)")
        rows = spark.sql("SELECT order_id, twice FROM orders ORDER BY order_id").collect()
        assert add_jar(spark.sparkContext) is not None
        java_classes(spark.sparkContext).catalog.SourceCatalog()  # the jar is in the package
        _stop(spark)
    assert [tuple(row) for row in rows] == [(1, Decimal("19.98")), (2, Decimal("240.00"))], rows
    print(f"kafka_sql {kafka_sql.__version__} wrote and read {len(rows)} rows.")


def _stop(spark: SparkSession) -> None:
    """Stop Spark, and wait until its JVM has exited: it uses the environment, which is deleted next."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


if __name__ == "__main__":
    main()
