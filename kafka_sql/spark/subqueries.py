"""Replace subqueries and set operators of a streaming query with joins, which Spark itself does only for batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.runtime.error_loggers import errors_are_answers
from kafka_sql.spark.catalyst import Catalyst, Node, Plan, analyzed_plan, class_name, elements, output, walk
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.internal import Internal, JavaClass, Text, java_classes
from kafka_sql.spark.jvm import jvm, session_state

_CONDITION: Final = "INVALID_SUBQUERY_EXPRESSION.STREAMING_QUERY"
_WHY: Final = "IN, EXISTS and scalar subqueries over streams become joins"
_FAILS: Final = "streaming INSERTs with a subquery over a stream are rejected"
# Spark's rules, in the order of its optimizer
_RULES: Final = ("PullupCorrelatedPredicates", "RewritePredicateSubquery", "RewriteCorrelatedScalarSubquery")
_SET_RULES: Final = ("ReplaceIntersectWithSemiJoin", "ReplaceExceptWithAntiJoin")
_WHY_SET_RULES: Final = "INTERSECT and EXCEPT of streams become joins and aggregates"
_SET_RULES_FAIL: Final = "streaming INSERTs with INTERSECT or EXCEPT are rejected"
_OPTIMIZER: Final = "org.apache.spark.sql.catalyst.optimizer"

INTERNALS: Final[tuple[Internal, ...]] = (
    Text("Streaming query is not allowed in subquery expressions", _WHY, _FAILS, source="error/error-conditions.json"),
    *(JavaClass(f"{_OPTIMIZER}.{rule}", _WHY, _FAILS, members=("apply/1",)) for rule in _RULES),
    *(JavaClass(f"{_OPTIMIZER}.{rule}", _WHY_SET_RULES, _SET_RULES_FAIL, members=("apply/1",)) for rule in _SET_RULES),
    *java_classes(
        """
        org.apache.spark.sql.catalyst.plans.logical.Join new/5
        org.apache.spark.sql.catalyst.plans.logical.JoinHint NONE/0
        org.apache.spark.sql.catalyst.plans.LeftOuter$
        """,
        _WHY,
        _FAILS,
    ),
)


def analyze_query(spark: SparkSession, text: str, spark_sql: Callable[[str], DataFrame]) -> DataFrame:
    """Return the rows of a query, which may have subqueries and set operators over streams.

    Args:
        spark_sql: Spark's own ``sql()`` with the caller's parameters.

    Raises:
        AnalysisException: Spark rejects the query.
        UnsupportedSqlError: a scalar subquery may return several rows.
    """
    rows = None
    try:
        with errors_are_answers():
            rows = spark_sql(text)
    except AnalysisException as e:
        if e.getCondition() != _CONDITION or is_connect(spark):
            raise
        plan = _analyze_subqueries(spark, text)
    else:
        if is_connect(spark) or not rows.isStreaming:
            return rows
        plan = analyzed_plan(rows)
    joined = _apply(spark, _SET_RULES, plan)
    return rows if rows is not None and joined.fastEquals(plan) else Catalyst(spark).dataframe(joined)


def _analyze_subqueries(spark: SparkSession, text: str) -> Plan:
    state = session_state(spark)
    plan = state.analyzer().execute(state.sqlParser().parsePlan(text))  # without Spark's check
    return _join_scalars(spark, Catalyst(spark), _apply(spark, _RULES, plan))


def _apply(spark: SparkSession, rules: Sequence[str], plan: Plan) -> Plan:
    for rule in rules:
        plan = _scala_object(getattr(jvm(spark).org.apache.spark.sql.catalyst.optimizer, f"{rule}$")).apply(plan)
    return plan


def _join_scalars(spark: SparkSession, catalyst: Catalyst, plan: Plan) -> Plan:
    """Return a plan in which uncorrelated scalar subqueries over streams are joined."""
    children = [_join_scalars(spark, catalyst, child) for child in elements(plan.children())]
    plan = catalyst.with_inputs(plan, children)
    scalars = [
        part
        for expression in elements(plan.expressions())
        for part in walk(expression)
        if class_name(part) == "ScalarSubquery" and part.plan().isStreaming()
    ]
    if not scalars:
        return plan
    if class_name(plan) not in ("Filter", "Project"):
        raise UnsupportedSqlError(
            f"A scalar subquery over a stream is not supported in {class_name(plan)}. Use it in WHERE or in the list "
            "of SELECT."
        )
    (child,) = children
    replacements: list[tuple[Node, Node]] = []
    for scalar in scalars:
        subquery = _join_scalars(spark, catalyst, scalar.plan())
        _check_single_row(subquery)
        child = _cross_join(spark, child, subquery)
        replacements.append((scalar, output(subquery)[0]))
    if class_name(plan) == "Filter":
        return catalyst.project(
            output(plan), catalyst.filter([catalyst.replace(plan.condition(), replacements)], child)
        )
    return catalyst.project([catalyst.replace(item, replacements) for item in elements(plan.projectList())], child)


def _check_single_row(plan: Plan) -> None:
    while class_name(plan) in ("Project", "SubqueryAlias"):
        plan = plan.child()
    if class_name(plan) != "Aggregate" or elements(plan.groupingExpressions()):
        raise UnsupportedSqlError(
            "A scalar subquery over a stream must return one row: an aggregate without GROUP BY. Use one, such as "
            "(SELECT max(x) FROM ...), or a join."
        )


def _cross_join(spark: SparkSession, left: Plan, right: Plan) -> Plan:
    java: Any = jvm(spark)
    plans = java.org.apache.spark.sql.catalyst.plans
    outer = _scala_object(getattr(plans, "LeftOuter$"))
    return plans.logical.Join(left, right, outer, java.scala.Option.apply(None), plans.logical.JoinHint.NONE())


def _scala_object(java_class: Any) -> Any:
    return getattr(java_class, "MODULE$")
