"""Let each micro-batch of a stream read the tables that it joins as they are at that time.

Spark keeps the input partitions of a Python data source, and the files of other tables, for the life of a query. A
planning strategy in Java drops them when a micro-batch is planned.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from kafka_sql.spark.context import spark_context
from kafka_sql.spark.jar import PACKAGE, load_driver_class
from kafka_sql.spark.jvm import JAVA_EXCEPTIONS, java_array
from kafka_sql.spark.planner import add_strategy

_CLASS: Final = f"{PACKAGE}.catalog.RefreshStaticTables"
_LOG: Final = logging.getLogger(__name__)
_strategies: dict[str, Any] = {}  # by application, whose sessions share one


def install_refresh_strategy(spark: SparkSession) -> tuple[str, str] | None:
    """From now on, refresh the tables that the session's new streams join, in each micro-batch.

    Returns:
        None, or why they are not refreshed and what to do. Over Spark Connect, the server plans.
    """
    context = spark_context(spark)
    if context is None:
        return "over Spark Connect", "Start the query in a classic session"
    try:
        add_strategy(spark, _CLASS, lambda: _strategy(spark, context))
    except JAVA_EXCEPTIONS as e:  # the strategy's constructor checks Spark's classes
        _LOG.debug("Joined tables are not refreshed: %s", e)
        return f"with Spark {spark.version}, whose Python data sources have changed", "Use Spark 4.1 to 4.3"
    return None


def _strategy(spark: SparkSession, context: SparkContext) -> Any:
    strategy = _strategies.get(context.applicationId)
    if strategy is None:
        (constructor,) = load_driver_class(context, _CLASS).getDeclaredConstructors()
        no_arguments = java_array(spark, "Object", [])
        strategy = _strategies[context.applicationId] = constructor.newInstance(no_arguments)
    return strategy
