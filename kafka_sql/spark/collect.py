"""Collect the results of a classic session as text, and count the tasks of its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession

from kafka_sql.spark.internal import Internal, java_classes
from kafka_sql.spark.jvm import java_context, java_dataset, jvm

INTERNALS: Final[tuple[Internal, ...]] = java_classes(
    """
    org.apache.spark.sql.classic.Dataset as/1 collectAsList/0
    org.apache.spark.sql.Encoders STRING/0
    org.apache.spark.SparkStatusTracker getJobIdsForTag/1
    """,
    "the shell receives rows as one text, which takes a fraction of the time of Row objects, and counts their tasks",
    "SELECT in kafka-sql fails",
)


def collect_texts(frame: DataFrame, text: Column, separator: str, chunk_rows: int) -> Iterator[list[str]]:
    """Collect a text per row, in chunks. The JVM holds the result, up to ``spark.driver.maxResultSize``.

    Args:
        separator: a text that no value contains. Values that contain it are split.
        chunk_rows: rows per transfer from the JVM: one string for many rows, because each call to the JVM is slow.
    """
    packages = jvm(frame.sparkSession)
    typed = getattr(java_dataset(frame.select(text)), "as")(packages.org.apache.spark.sql.Encoders.STRING())
    texts = typed.collectAsList()
    for start in range(0, texts.size(), chunk_rows):
        chunk = texts.subList(start, min(start + chunk_rows, texts.size()))
        yield packages.java.lang.String.join(separator, chunk).split(separator)


def jobs_with_tag(spark: SparkSession, tag: str) -> set[int]:
    """Return the ids of the jobs with a tag."""
    return set(java_context(spark).statusTracker().getJobIdsForTag(tag))
