"""Call the operators in Java: add their classes to the Spark application, and convert arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.runtime.java_classes import add_classes, driver_class_loader, load_class
from kafka_sql.spark.context import is_pipeline, spark_context

JAVA_SOURCES: Final = Path(__file__).with_name("java")
_OPERATORS: Final = "kafka_sql.ChangelogOperators"


def call_operator(operator: str, rows: DataFrame, *arguments: Any) -> DataFrame:
    """Call a static method of ``ChangelogOperators`` with a stream and further arguments, in Java or Python types.

    Raises:
        UnsupportedSqlError: the driver cannot load its class.
    """
    spark = rows.sparkSession
    method = getattr(_load_operators(spark), operator)
    return DataFrame(method(rows._jdf, *arguments), spark)


def java_array(spark: SparkSession, java_type: str, values: Sequence[Any]) -> Any:
    """Return an array of ``String`` or ``boolean``."""
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(getattr(gateway.jvm, java_type), len(values))
    for i, value in enumerate(values):
        array[i] = value
    return array


def _load_operators(spark: SparkSession) -> Any:
    context: Any = spark_context(spark)
    if context is None or is_pipeline():
        raise _no_java("over Spark Connect" if context is None else "in a pipeline")
    loader = driver_class_loader(context)
    if loader is None:
        raise _no_java("with this driver's class loaders")
    if load_class(loader, _OPERATORS) is None:
        add_classes(context, loader, "kafka-sql-state.jar", sorted(JAVA_SOURCES.glob("*.java")))
    return context._jvm.kafka_sql.ChangelogOperators


def _no_java(where: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        "The query needs an operator in Java (changes with old rows, aggregates with retraction, or temporal joins), "
        f"which cannot be added to Spark {where}. Run the query in a classic session."
    )
