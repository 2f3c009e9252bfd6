"""Let a join of streams match no NULL with NULL, as SQL requires.

Spark's stateful join compares the bytes of the keys, in which two NULLs are equal. It is right only if the optimizer
filters the NULLs of an input before: not in a FULL OUTER JOIN, and not for an expression that may turn a value into
NULL, such as ``ON nullif(a.k, '') = nullif(b.k, '')``.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, class_name, elements, join_condition
from kafka_sql.spark.internal import Internal, java_classes
from kafka_sql.spark.jvm import jvm
from kafka_sql.spark.plan import ATTRIBUTE, Operator
from kafka_sql.spark.plan_reader import read_plan

INTERNALS: Final[tuple[Internal, ...]] = java_classes(
    "org.apache.spark.sql.catalyst.expressions.IsNotNull new/1",
    "joins of streams match no NULL with NULL",
    "streaming INSERTs with a FULL OUTER JOIN fail before they start",
)


def match_no_nulls(rows: DataFrame) -> DataFrame:
    """Return a streaming query whose joins of streams match no NULL with NULL. Needs a classic session."""
    if not any(_may_match_nulls(operator) for operator in read_plan(rows).walk()):
        return rows
    catalyst = Catalyst(rows.sparkSession)
    return catalyst.dataframe(catalyst.rewrite_streams(analyzed_plan(rows), partial(_rewrite, rows)))


def _may_match_nulls(operator: Operator) -> bool:
    if not operator.joins_streams() or operator.condition is None:
        return False
    keys = [part.children for part in operator.condition.conjuncts() if part.name == "EqualTo"]
    are_filtered = [any(side.name == ATTRIBUTE for side in key) for key in keys]
    return bool(keys) and (operator.detail == "FULL OUTER" or not all(are_filtered))


def _rewrite(rows: DataFrame, plan: Plan) -> Plan:
    """Add a condition to each join of streams that a key with NULL does not fulfill."""
    inputs = elements(plan.children())
    if class_name(plan) != "Join" or not all(i.isStreaming() for i in inputs):
        return plan
    parts = join_condition(plan)
    keys = [part.left() for part in parts if class_name(part) == "EqualTo" and part.left().nullable()]
    is_not_null = jvm(rows.sparkSession).org.apache.spark.sql.catalyst.expressions.IsNotNull
    left, right = inputs
    return Catalyst(rows.sparkSession).join(plan, left, right, [*parts, *map(is_not_null, keys)]) if keys else plan
