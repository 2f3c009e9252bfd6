"""Call the operators in Java, and convert their arguments."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.context import is_pipeline, spark_context
from kafka_sql.spark.jar import add_jar, java_classes
from kafka_sql.spark.jvm import from_java_dataset, java_dataset


def call_operator(operator: str, rows: DataFrame, *arguments: Any) -> DataFrame:
    """Call a static method of ``ChangelogOperators`` with a stream and further arguments, in Java or Python types.

    Raises:
        UnsupportedSqlError: the driver cannot load its class.
    """
    spark = rows.sparkSession
    method = getattr(_load_operators(spark), operator)
    return from_java_dataset(method(java_dataset(rows), *arguments), spark)


def _load_operators(spark: SparkSession) -> Any:
    context: Any = spark_context(spark)
    if context is None or is_pipeline():
        raise _no_java("over Spark Connect" if context is None else "in a pipeline")
    if add_jar(context) is None:
        raise _no_java("with this driver's class loaders")
    return java_classes(context).state.ChangelogOperators


def _no_java(where: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        "The query needs an operator in Java (changes with old rows, aggregates with retraction, or temporal joins), "
        f"which cannot be added to Spark {where}. Run the query in a classic session."
    )
