"""Whether a session has a Spark of its own, or a server's over Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def spark_context(spark: SparkSession) -> SparkContext | None:
    """The session's context; None over Connect, whose driver, planners and workers are the server's."""
    context: SparkContext | None = spark.__dict__.get("_sc")
    return context
