"""Add planning strategies and optimizer rules in Java to a classic session. A stream copies them when it starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jvm import JavaObject, java_session

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        "org.apache.spark.sql.ExperimentalMethods",
        "each micro-batch reads joined tables as they are then; late rows are counted one by one",
        "streaming INSERTs fail before they start; late rows are counted by Spark",
        members=("extraStrategies/0", "extraStrategies_$eq/1", "extraOptimizations/0", "extraOptimizations_$eq/1"),
    ),
)


def add_strategy(spark: SparkSession, class_name: str, create: Callable[[], JavaObject]) -> None:
    """Add a planning strategy, unless the session has one of the class."""
    _add(spark, "extraStrategies", class_name, create)


def add_optimizer_rule(spark: SparkSession, class_name: str, create: Callable[[], JavaObject]) -> None:
    """Add an optimizer rule, unless the session has one of the class."""
    _add(spark, "extraOptimizations", class_name, create)


def _add(spark: SparkSession, name: str, class_name: str, create: Callable[[], JavaObject]) -> None:
    session: Any = java_session(spark)
    experimental = session.experimental()
    rules = getattr(experimental, name)()
    if all(rules.apply(i).getClass().getName() != class_name for i in range(rules.size())):
        set_rules = getattr(experimental, f"{name}_$eq")  # the name of Scala's setter
        set_rules(rules.appended(create()))
