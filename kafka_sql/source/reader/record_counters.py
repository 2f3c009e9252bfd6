"""Count records in tasks and report the counts to the driver through a Spark accumulator.

Accumulators count each successful task exactly once. Spark transfers the updates of Python data source readers as it
does for any other Python function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from kafka_sql.runtime.task import query_id
from kafka_sql.spark.accumulators import task_accumulator
from kafka_sql.spark.context import spark_context

_ATTRIBUTE: Final = "_kafka_sql_records"  # of a SparkContext
_SKIPPED: Final = ("skipped",)
_DEAD_LETTERED: Final = ("dead-lettered",)
_READ: Final = "read"  # followed by the table and the client
Counts = dict[tuple[str, ...], int]  # by query id and what is counted


@dataclass(frozen=True)
class BadRecordCounts:
    """The number of undecodable records of a query."""

    skipped: int
    dead_lettered: int


class _SumByKey(AccumulatorParam[Counts]):
    def zero(self, value: Counts) -> Counts:
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:
        for key, count in value2.items():
            value1[key] = value1.get(key, 0) + count
        return value1


_SUM_BY_KEY: Final = _SumByKey()


def accumulator_id(spark: SparkSession) -> int | None:
    """Return the id of the application's accumulator; None for a Connect client, which tasks cannot report to."""
    accumulator = _accumulator(spark)
    return accumulator.aid if accumulator is not None else None


def bad_record_counts(spark: SparkSession, query: str) -> BadRecordCounts | None:
    """Return what the tasks of a streaming query have counted so far; None for a Connect client."""
    accumulator = _accumulator(spark)
    if accumulator is None:
        return None
    counts = accumulator.value
    return BadRecordCounts(counts.get((query, *_SKIPPED), 0), counts.get((query, *_DEAD_LETTERED), 0))


def records_by_client(spark: SparkSession, query: str) -> dict[tuple[str, str], int]:
    """Return how many records the tasks of a streaming query have read, by table and Kafka client.

    Empty for a Connect client.
    """
    accumulator = _accumulator(spark)
    counts: Counts = accumulator.value if accumulator is not None else {}
    return {(key[2], key[3]): count for key, count in counts.items() if key[:2] == (query, _READ)}


def reset_counts(spark: SparkSession, query: str) -> None:
    """Reset the counts of a query that starts."""
    accumulator = _accumulator(spark)
    if accumulator is not None:
        for key in [key for key in accumulator.value if key[0] == query]:
            del accumulator.value[key]


def count_bad_records(accumulator_id: int | None, count: int, dead_lettered: bool) -> None:
    """Count undecodable records in a task of a streaming query. Those of batch queries are only logged."""
    _count(accumulator_id, _DEAD_LETTERED if dead_lettered else _SKIPPED, count)


def count_records_read(accumulator_id: int | None, count: int, table: str, client: str) -> None:
    """Count records that a task of a streaming query has read with a Kafka client."""
    _count(accumulator_id, (_READ, table, client), count)


def _count(accumulator_id: int | None, what: tuple[str, ...], count: int) -> None:
    query = query_id()
    if accumulator_id is not None and query:
        zero: Counts = {}
        task_accumulator(accumulator_id, zero, _SUM_BY_KEY).add({(query, *what): count})


def _accumulator(spark: SparkSession) -> Accumulator[Counts] | None:
    context = spark_context(spark)
    if context is None:
        return None
    accumulator: Accumulator[Counts] | None = context.__dict__.get(_ATTRIBUTE)
    if accumulator is None:
        accumulator = context.__dict__[_ATTRIBUTE] = context.accumulator({}, _SUM_BY_KEY)
    return accumulator
