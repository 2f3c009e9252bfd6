"""What tasks tell the driver of records that they could not read: by one of Spark's accumulators, which count the tasks
that succeeded and each of them once.

Spark hands what a Python reader adds to an accumulator over as it does for any other Python function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam, _deserialize_accumulator
from pyspark.sql import SparkSession

from kafka_sql.runtime.spark_context import spark_context

_ATTRIBUTE: Final = "_kafka_sql_told"  # of a SparkContext
_SKIPPED: Final = "skipped"
_DEAD: Final = "dead"
Counts = dict[tuple[str, str], int]  # by query and what became of the record


@dataclass(frozen=True)
class BadRecordCounts:
    """How many records of a query could not be read.

    Attributes:
        skipped: were left out.
        dead: were written into the topic for them.
    """

    skipped: int
    dead_lettered: int


class _Sum(AccumulatorParam[Counts]):
    def zero(self, value: Counts) -> Counts:
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:
        for key, count in value2.items():
            value1[key] = value1.get(key, 0) + count
        return value1


_SUM: Final = _Sum()


def accumulator_id(spark: SparkSession) -> int | None:
    """Where the tasks of a session's application tell; None for a Connect client, whom they do not reach."""
    accumulator = _accumulator(spark)
    return accumulator.aid if accumulator is not None else None


def bad_record_counts(spark: SparkSession, query: str) -> BadRecordCounts | None:
    """What the tasks of a continuous query have told so far; None where nobody listens."""
    accumulator = _accumulator(spark)
    if accumulator is None:
        return None
    found = accumulator.value
    return BadRecordCounts(found.get((query, _SKIPPED), 0), found.get((query, _DEAD), 0))


def reset_counts(spark: SparkSession, query: str) -> None:
    """A query begins without any."""
    accumulator = _accumulator(spark)
    if accumulator is not None:
        for what in (_SKIPPED, _DEAD):
            accumulator.value.pop((query, what), None)


def count_bad_records(listener: int | None, count: int, dead: bool) -> None:
    """Tell of records from within a task of a continuous query; a batch query has the log alone."""
    context = TaskContext.get()
    query = context.getLocalProperty("sql.streaming.queryId") if context is not None else None
    if listener is not None and query:
        told: Accumulator[Counts] = _deserialize_accumulator(listener, {}, _SUM)  # the task's own, the same each time
        told.add({(query, _DEAD if dead else _SKIPPED): count})


def _accumulator(spark: SparkSession) -> Accumulator[Counts] | None:
    context = spark_context(spark)
    if context is None:
        return None
    found: Accumulator[Counts] | None = context.__dict__.get(_ATTRIBUTE)
    if found is None:
        found = context.__dict__[_ATTRIBUTE] = context.accumulator({}, _SUM)
    return found
