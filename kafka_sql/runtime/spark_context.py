"""Distinguish classic Spark sessions from Spark Connect sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def spark_context(spark: SparkSession) -> SparkContext | None:
    """Return the session's SparkContext; None with Spark Connect, where driver and workers belong to the server."""
    context: SparkContext | None = spark.__dict__.get("_sc")
    return context
