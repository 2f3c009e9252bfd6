"""Let each micro-batch of a stream read the tables that it joins as they are at that time.

Spark keeps the input partitions of a Python data source, and the files of other tables, for the life of a query. A
planning strategy in Java drops them when a micro-batch is planned.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from kafka_sql.spark.context import spark_context
from kafka_sql.spark.jar import PACKAGE, load_driver_class
from kafka_sql.spark.jvm import java_array
from kafka_sql.spark.planner import add_strategy

_CLASS: Final = f"{PACKAGE}.catalog.RefreshStaticTables"
_strategies: dict[str, Any] = {}  # by application, whose sessions share one


def install_refresh_strategy(spark: SparkSession) -> bool:
    """From now on, refresh the tables that the session's new streams join, in each micro-batch.

    Returns:
        whether they are refreshed. Over Spark Connect, they are not: the server plans.
    """
    context = spark_context(spark)
    if context is None:
        return False
    add_strategy(spark, _CLASS, lambda: _strategy(spark, context))
    return True


def _strategy(spark: SparkSession, context: SparkContext) -> Any:
    strategy = _strategies.get(context.applicationId)
    if strategy is None:
        (constructor,) = load_driver_class(context, _CLASS).getDeclaredConstructors()
        no_arguments = java_array(spark, "Object", [])
        strategy = _strategies[context.applicationId] = constructor.newInstance(no_arguments)
    return strategy
