"""Read and build Spark's logical plans through Py4J. Needs a classic session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession

from kafka_sql.spark.expression_text import render
from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jvm import from_java_column, from_java_dataset, java_session, jvm, query_execution, session_state
from kafka_sql.spark.plan import read_expression

Plan: TypeAlias = Any  # Spark's LogicalPlan
Node: TypeAlias = Any  # Spark's Expression
Attribute: TypeAlias = Any  # Spark's AttributeReference, a reference to a column of a plan

_UNSUPPORTED_OUTPUT_MODE: Final = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
_REWRITE = "plans of changelogs, real-time queries and shared reads are built of these nodes"
_FAILS = "streaming INSERTs over changelogs, in real-time mode and with a shared read fail before they start"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass("org.apache.spark.sql.classic.ExpressionUtils", _REWRITE, _FAILS, members=("column/1",)),
    JavaClass("org.apache.spark.sql.catalyst.plans.logical.Project", _REWRITE, _FAILS, members=("new/2",)),
    JavaClass("org.apache.spark.sql.catalyst.plans.logical.HintInfo", _REWRITE, _FAILS, members=("new/1",)),
    JavaClass("org.apache.spark.sql.catalyst.plans.logical.ResolvedHint", _REWRITE, _FAILS, members=("new/2",)),
    JavaClass("org.apache.spark.sql.catalyst.plans.logical.BROADCAST$", _REWRITE, _FAILS),
    JavaClass("org.apache.spark.sql.catalyst.expressions.Alias", _REWRITE, _FAILS, members=("new/6",)),
    JavaClass("org.apache.spark.sql.types.Metadata", "an event time becomes an ordinary column", _FAILS),
    JavaClass("org.apache.spark.sql.api.python.PythonSQLUtils", "EXPLAIN", _FAILS, members=("explainString/2",)),
    JavaClass("org.apache.spark.api.python.PythonUtils", "lists become Scala's", _FAILS, members=("toSeq/1",)),
    JavaClass("scala.Option", "optional values of nodes", _FAILS, members=("apply/1",)),
    JavaClass(
        "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker",
        "whether a streaming query is supported in an output mode is known before it starts",
        _FAILS,
        members=("checkForStreaming/2",),
    ),
    JavaClass("org.apache.spark.sql.streaming.OutputMode", "the mode that is checked", _FAILS),
)

WATERMARK_METADATA: Final = "spark.watermarkDelayMs"  # of the columns that are event times


def class_name(node: Any) -> str:
    """Return the name of a node's class, such as Filter."""
    return str(node.getClass().getSimpleName())


def elements(sequence: Any) -> list[Any]:
    """Return the elements of a Scala sequence."""
    return [sequence.apply(i) for i in range(sequence.size())]


def walk(node: Node) -> Iterator[Node]:
    """Yield an expression and all expressions in it, parents first."""
    yield node
    for child in elements(node.children()):
        yield from walk(child)


def column_id(attribute: Attribute) -> int:
    """Return the id of a column, which is unique in a plan."""
    return int(attribute.exprId().id())


def output(plan: Plan) -> list[Attribute]:
    """Return the columns of a plan."""
    return elements(plan.output())


def analyzed_plan(rows: DataFrame) -> Plan:
    """Return the analyzed plan of a DataFrame."""
    return query_execution(rows).analyzed()


def groups_by_event_time(plan: Plan) -> bool:
    """Return whether an aggregate of a plan groups by a window, or by another column with a watermark."""
    keys = elements(plan.groupingExpressions()) if class_name(plan) == "Aggregate" else []
    return any(
        class_name(key) in ("Alias", "AttributeReference") and key.metadata().contains(WATERMARK_METADATA)
        for key in keys
    ) or any(map(groups_by_event_time, elements(plan.children())))


def show(expression: Node) -> str:
    """Return an expression as text, for messages."""
    return render(read_expression(expression))


def java_object(jvm: Any, name: str) -> Any:
    """Return the instance of a Scala object, whose class name ends with ``$``."""
    return getattr(reduce(getattr, name.split("."), jvm), "MODULE$")


class Catalyst:
    """Builds plans and expressions in a session's JVM."""

    def __init__(self, spark: SparkSession) -> None:
        """Find the JVM."""
        self._spark, self._jvm = spark, jvm(spark)

    def dataframe(self, plan: Plan) -> DataFrame:
        """Return the rows of a plan; analyzes new operators, and resolves what they contain."""
        rows = self._jvm.org.apache.spark.sql.classic.Dataset.ofRows(java_session(self._spark), plan)
        return from_java_dataset(rows, self._spark)

    def column(self, expression: Node) -> Column:
        """Return an expression of a plan for Spark's DataFrame functions. A column or alias keeps its id."""
        return from_java_column(self._jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))

    def columns(self, expressions: Iterable[Node]) -> list[Column]:
        """Return expressions as columns."""
        return [self.column(expression) for expression in expressions]

    def project(self, expressions: Sequence[Node], child: Plan) -> Plan:
        """Return a plan with the given aliases and columns of another plan."""
        return self._jvm.org.apache.spark.sql.catalyst.plans.logical.Project(self._sequence(expressions), child)

    def alias(self, expression: Node, named: Node) -> Node:
        """Return an expression with the name and the id of a column or alias."""
        metadata = self._jvm.scala.Option.apply(named.metadata())
        no_keys = self._sequence([])
        return self._jvm.org.apache.spark.sql.catalyst.expressions.Alias(
            expression, named.name(), named.exprId(), named.qualifier(), metadata, no_keys
        )

    def find_column(self, plan: Plan, name: Sequence[str]) -> Attribute | None:
        """Resolve the name of a column in a plan, as Spark SQL does. Return None if it is not a column."""
        resolver = session_state(self._spark).conf().resolver()
        found = plan.resolve(self._sequence(name), resolver)
        return found.get() if found.isDefined() and class_name(found.get()) == "AttributeReference" else None

    def without_metadata(self, attribute: Attribute) -> Attribute:
        """Return a column that is not an event time."""
        return attribute.withMetadata(self._jvm.org.apache.spark.sql.types.Metadata.empty())

    def broadcast_hint(self, plan: Plan) -> Plan:
        """Return a plan whose rows Spark sends to all executors if it is joined."""
        strategy = java_object(self._jvm, "org.apache.spark.sql.catalyst.plans.logical.BROADCAST$")
        hint = self._jvm.org.apache.spark.sql.catalyst.plans.logical.HintInfo(self._jvm.scala.Option.apply(strategy))
        return self._jvm.org.apache.spark.sql.catalyst.plans.logical.ResolvedHint(plan, hint)

    def deduplicate(self, plan: Plan) -> Plan:
        """Return the first of equal rows, as a stream of rows that do not change."""
        return analyzed_plan(self.dataframe(plan).dropDuplicates())

    def with_inputs(self, node: Any, inputs: Sequence[Any]) -> Any:
        """Return an operator or an expression with other inputs."""
        return node.withNewChildren(self._sequence(inputs))

    def replace(self, node: Node, replacements: Sequence[tuple[Node, Node]]) -> Node:
        """Return an expression in which some expressions are replaced by others."""
        for old, new in replacements:
            if node.semanticEquals(old):
                return new
        children = elements(node.children())
        replaced = [self.replace(child, replacements) for child in children]
        if all(new is old for new, old in zip(replaced, children, strict=True)):
            return node
        return self.with_inputs(node, replaced)

    def explain(self, rows: DataFrame, mode: str) -> str:
        """Return the plans of a DataFrame in a mode of Spark's EXPLAIN."""
        explain = self._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.explainString
        return str(explain(query_execution(rows), mode))

    def supports_append_mode(self, plan: Plan) -> bool:
        """Return whether no row of a query changes later; true, too, if the query is not supported at all."""
        checker = self._jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
        try:
            checker.checkForStreaming(plan, self._jvm.org.apache.spark.sql.streaming.OutputMode.Append())
        except AnalysisException as e:
            if "Distinct aggregations" in str(e):
                return groups_by_event_time(plan)  # only Spark's own aggregate removes windows that have ended
            return e.getCondition() != _UNSUPPORTED_OUTPUT_MODE or "aggregat" not in str(e)
        return True

    def _sequence(self, values: Sequence[Any]) -> Any:
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(values))
