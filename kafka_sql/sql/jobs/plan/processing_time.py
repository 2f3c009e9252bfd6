"""Close windows over PROCTIME() when their time is over, also if no further row arrives.

Flink sets a timer for the end of such a window. Spark closes windows by a watermark, which only rows advance. So the
processing time becomes an event time without delay, and a second stream, Spark's ``rate`` source, adds a row per second
that only advances the watermark.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import (
    Catalyst,
    Plan,
    analyzed_plan,
    class_name,
    column_id,
    data_type_of,
    elements,
    output,
)
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.event_time import below_filters
from kafka_sql.spark.expression_text import WINDOW_MARK
from kafka_sql.spark.jar import add_jar, java_classes
from kafka_sql.spark.plan import ATTRIBUTE, Expression
from kafka_sql.spark.plan_reader import read_plan

_TIME, _IS_ROW = "__processing_time", "__is_row"


def windowed_processing_times(rows: DataFrame) -> frozenset[int]:
    """Return the ids of the columns that are PROCTIME() and the time of windows."""
    origins: dict[int | None, int] = {}  # the id of PROCTIME() that a column is
    windowed: set[int] = set()
    for operator in read_plan(rows).walk():
        for column in operator.columns:
            value = column.children[0] if column.name == "Alias" else column
            if _is_processing_time(value) and column.id is not None:
                origins[column.id] = column.id
            elif value.name == ATTRIBUTE and value.id in origins:
                origins[column.id] = origins[value.id]
            windowed |= {origins[id] for id in _times(value) if id in origins}
    return frozenset(windowed)


def _is_processing_time(value: Expression) -> bool:
    return any(part.name == "CurrentTimestamp" for part in value.walk()) and not value.references()


def _times(value: Expression) -> frozenset[int]:
    """Return the ids of the columns to which windows in an expression refer."""
    windows = [part for part in value.walk() if part.name == WINDOW_MARK]
    return frozenset().union(*(window.references() for window in windows))


def add_watermark(spark: SparkSession, rows: DataFrame, times: Collection[int]) -> DataFrame:
    """Return a stream in which processing times are event times. Needs a classic session.

    Args:
        rows: a stream without other event times, because Spark's watermark is the same for all operators.
        times: the ids of the columns.
    """
    catalyst = Catalyst(spark)
    context = spark_context(spark)
    add_jar(context)
    plan = _replace(spark, catalyst, analyzed_plan(rows), times)
    return catalyst.dataframe(java_classes(context).streaming.ColumnMetadata.refresh(plan))


def _replace(spark: SparkSession, catalyst: Catalyst, plan: Plan, times: Collection[int]) -> Plan:
    items = elements(plan.projectList()) if class_name(plan) == "Project" else []
    computed = [item for item in items if class_name(item) == "Alias"]  # others are passed on
    found = next((item for item in computed if column_id(item) in times), None)
    if found is not None:
        return _with_watermark(spark, catalyst, plan, column_id(found))
    children = [_replace(spark, catalyst, child, times) for child in elements(plan.children())]
    return catalyst.with_inputs(plan, children) if children else plan


def _with_watermark(spark: SparkSession, catalyst: Catalyst, plan: Plan, time: int) -> Plan:
    """Return the rows of a plan, whose processing time gets a watermark that advances each second."""
    columns = output(plan)
    names = [_TIME if column_id(column) == time else f"c{i}" for i, column in enumerate(columns)]
    types = [data_type_of(column) for column in columns]
    rows = catalyst.dataframe(plan).select(
        *(catalyst.column(column).alias(name) for column, name in zip(columns, names, strict=True)),
        F.lit(True).alias(_IS_ROW),
    )
    clock = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    ticks = clock.select(
        *(
            (F.current_timestamp() if name == _TIME else F.lit(None)).cast(type).alias(name)
            for name, type in zip(names, types, strict=True)
        ),
        F.lit(False).alias(_IS_ROW),
    )
    watched = rows.union(ticks).withWatermark(_TIME, "0 seconds")
    time_column = below_filters(watched, _TIME).alias(_TIME, metadata=watched.schema[_TIME].metadata)
    kept = analyzed_plan(watched.withColumn(_TIME, time_column).where(_IS_ROW))
    named = [
        column.withMetadata(new.metadata()) if column_id(column) == time else column
        for new, column in zip(output(kept), columns, strict=False)
    ]
    return catalyst.project([catalyst.alias(n, c) for n, c in zip(output(kept), named, strict=False)], kept)
