"""Read and build Spark's logical plans through Py4J. Needs a classic session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import is_
from typing import Any, Final, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from kafka_sql.spark.expression_text import render
from kafka_sql.spark.internal import Internal, java_classes
from kafka_sql.spark.jvm import from_java_column, from_java_dataset, java_session, jvm, query_execution, session_state
from kafka_sql.spark.plan import AGGREGATE_FUNCTION
from kafka_sql.spark.plan_reader import WATERMARK_METADATA, read_expression

Plan: TypeAlias = Any  # Spark's LogicalPlan
Node: TypeAlias = Any  # Spark's Expression
Attribute: TypeAlias = Any  # Spark's AttributeReference, a reference to a column of a plan

_SESSION_METADATA: Final = "spark.sessionWindow"  # of the columns that are session windows

INTERNALS: Final[tuple[Internal, ...]] = java_classes(
    """
    org.apache.spark.sql.classic.ExpressionUtils column/1
    org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys unapply/1
    org.apache.spark.sql.catalyst.plans.logical.Aggregate new/4
    org.apache.spark.sql.catalyst.plans.logical.Expand new/3 projections/0
    org.apache.spark.sql.catalyst.plans.logical.Filter new/2
    org.apache.spark.sql.catalyst.plans.logical.Join new/5 condition/0 hint/0 joinType/0
    org.apache.spark.sql.catalyst.plans.logical.Project new/2
    org.apache.spark.sql.catalyst.plans.logical.HintInfo new/1
    org.apache.spark.sql.catalyst.plans.logical.ResolvedHint new/2
    org.apache.spark.sql.catalyst.plans.logical.BROADCAST$
    org.apache.spark.sql.catalyst.expressions.Alias new/6
    org.apache.spark.sql.catalyst.expressions.And new/2
    org.apache.spark.sql.catalyst.expressions.EqualTo new/2
    org.apache.spark.sql.catalyst.expressions.IsNull new/1
    org.apache.spark.sql.catalyst.plans.LeftOuter$
    org.apache.spark.sql.catalyst.expressions.Literal value/0
    org.apache.spark.sql.types.Metadata
    org.apache.spark.api.python.PythonUtils toSeq/1
    scala.Option apply/1
    """,
    "plans of changelogs, joins, real-time queries and shared reads are read and built with these classes",
    "streaming INSERTs over changelogs, in real-time mode and with a shared read fail before they start",
)


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


def conjuncts(condition: Node) -> list[Node]:
    """Return the parts of a condition that AND connects."""
    if class_name(condition) != "And":
        return [condition]
    return [part for side in (condition.left(), condition.right()) for part in conjuncts(side)]


def join_condition(join: Plan) -> list[Node]:
    """Return the parts of a join's condition that AND connects; none for a join without one."""
    return conjuncts(join.condition().get()) if join.condition().isDefined() else []


def aggregate_calls(items: Sequence[Node]) -> list[Node]:
    """Return the different calls of aggregate functions in expressions."""
    calls: list[Node] = []
    for part in (part for item in items for part in walk(item) if class_name(part) == AGGREGATE_FUNCTION):
        if not any(part.semanticEquals(call) for call in calls):
            calls.append(part)
    return calls


def column_id(attribute: Attribute) -> int:
    """Return the id of a column, which is unique in a plan."""
    return int(attribute.exprId().id())


def is_event_time(attribute: Attribute) -> bool:
    """Return whether a column has a watermark."""
    return bool(attribute.metadata().contains(WATERMARK_METADATA))


def is_session(node: Node) -> bool:
    """Return whether an expression of GROUP BY is a column with Spark's session windows."""
    return class_name(node) in ("Alias", "AttributeReference") and bool(node.metadata().contains(_SESSION_METADATA))


def data_type_of(node: Node) -> DataType:
    """Return the type of an expression."""
    field = {"name": "value", "type": json.loads(node.dataType().json()), "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [field]})[0].dataType


def output(plan: Plan) -> list[Attribute]:
    """Return the columns of a plan."""
    return elements(plan.output())


def analyzed_plan(rows: DataFrame) -> Plan:
    """Return the analyzed plan of a DataFrame."""
    return query_execution(rows).analyzed()


def joins_of_streams(rows: DataFrame) -> Iterator[Plan]:
    """Yield the joins of two streams in the optimized plan, which has only the columns that the query uses."""
    pending = [session_state(rows.sparkSession).optimizer().execute(analyzed_plan(rows))]
    while pending:
        plan = pending.pop()
        children = elements(plan.children())
        if class_name(plan) == "Join" and all(child.isStreaming() for child in children):
            yield plan
        pending += children


def has_equality(spark: SparkSession, join: Plan) -> bool:
    """Return whether the condition of a join has an equality between both sides."""
    return bool(jvm(spark).org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys.unapply(join).isDefined())


def event_times(plan: Plan) -> list[str]:
    """Return the columns of a plan that have a watermark."""
    return sorted({str(c.name()) for c in output(plan) if is_event_time(c)})


def show(expression: Node) -> str:
    """Return an expression as text, for messages."""
    return render(read_expression(expression))


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

    def expand(self, projections: Sequence[Sequence[Node]], columns: Sequence[Node], child: Plan) -> Plan:
        """Return a plan with a row per projection for each row of another plan."""
        expressions = self._sequence([self._sequence(projection) for projection in projections])
        logical = self._jvm.org.apache.spark.sql.catalyst.plans.logical
        return logical.Expand(expressions, self._sequence(columns), child)

    def aggregate(self, groupings: Sequence[Node], items: Sequence[Node], child: Plan) -> Plan:
        """Return an aggregate with given expressions of GROUP BY and given columns."""
        none = self._jvm.scala.Option.apply(None)
        logical = self._jvm.org.apache.spark.sql.catalyst.plans.logical
        return logical.Aggregate(self._sequence(groupings), self._sequence(items), child, none)

    def equal(self, left: Node, right: Node) -> Node:
        """Return the condition that two values are equal."""
        return self._jvm.org.apache.spark.sql.catalyst.expressions.EqualTo(left, right)

    def filter(self, conditions: Sequence[Node], child: Plan) -> Plan:
        """Return the rows of a plan that fulfill all conditions."""
        if not conditions:
            return child
        return self._jvm.org.apache.spark.sql.catalyst.plans.logical.Filter(self.all_of(conditions), child)

    def join(self, like: Plan, left: Plan, right: Plan, conditions: Sequence[Node]) -> Plan:
        """Return a join of the type of another one."""
        condition = self._jvm.scala.Option.apply(self.all_of(conditions) if conditions else None)
        logical = self._jvm.org.apache.spark.sql.catalyst.plans.logical
        return logical.Join(left, right, like.joinType(), condition, like.hint())

    def left_join(self, like: Plan, left: Plan, right: Plan, conditions: Sequence[Node]) -> Plan:
        """Return a LEFT JOIN with the hint of another join."""
        plans = self._jvm.org.apache.spark.sql.catalyst.plans
        left_outer = getattr(getattr(plans, "LeftOuter$"), "MODULE$")  # a Scala object
        return plans.logical.Join(
            left, right, left_outer, self._jvm.scala.Option.apply(self.all_of(conditions)), like.hint()
        )

    def is_null(self, value: Node) -> Node:
        """Return the condition that a value is NULL."""
        return self._jvm.org.apache.spark.sql.catalyst.expressions.IsNull(value)

    def all_of(self, conditions: Sequence[Node]) -> Node:
        """Return the conjunction of one or more conditions."""
        return reduce(self._jvm.org.apache.spark.sql.catalyst.expressions.And, conditions)

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

    def broadcast_tables(self, plan: Plan, check: Callable[[Plan], None]) -> Plan:
        """Return a stream that broadcasts the tables that it joins, and returns distinct rows once.

        Spark's DISTINCT is an aggregate, which would return a row again whenever an equal one arrives.

        Args:
            check: called with each of these tables.
        """
        children = elements(plan.children()) if plan.isStreaming() else []
        inputs = [self.broadcast_tables(child, check) for child in children]
        if children and class_name(plan) == "Distinct":
            return analyzed_plan(self.dataframe(inputs[0]).dropDuplicates())
        for i, child in enumerate(children):
            if class_name(plan) == "Join" and not child.isStreaming():
                check(child)
                logical = self._jvm.org.apache.spark.sql.catalyst.plans.logical
                strategy = getattr(getattr(logical, "BROADCAST$"), "MODULE$")  # of a Scala object
                hint = logical.HintInfo(self._jvm.scala.Option.apply(strategy))
                inputs[i] = logical.ResolvedHint(child, hint)
        return plan if all(map(is_, inputs, children)) else self.with_inputs(plan, inputs)

    def rewrite_streams(self, plan: Plan, rewrite: Callable[[Plan], Plan]) -> Plan:
        """Return a plan in which each operator of a stream is rewritten, inputs first; itself if none changes."""
        if not plan.isStreaming():
            return plan
        children = elements(plan.children())
        inputs = [self.rewrite_streams(child, rewrite) for child in children]
        if any(new is not old for new, old in zip(inputs, children, strict=True)):
            plan = self.with_inputs(plan, inputs)
        return rewrite(plan)

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

    def replace_in_columns(self, items: Sequence[Node], replacements: Sequence[tuple[Node, Node]]) -> list[Node]:
        """Return columns of a result in which some expressions are replaced by others. Each keeps its name and id."""
        replaced = [(self.replace(item, replacements), item) for item in items]
        return [new if class_name(new) == "Alias" else self.alias(new, item) for new, item in replaced]

    def physical_operators(self, plan: Plan) -> Iterator[tuple[str, str]]:
        """Yield the operators that would execute a plan, and for a scan of DataSource V2 the class of its table."""
        pending = [query_execution(self.dataframe(plan)).sparkPlan()]
        while pending:
            operator = pending.pop()
            name = class_name(operator)
            yield name, class_name(operator.table()) if name == "BatchScanExec" else ""
            pending += elements(operator.children())

    def _sequence(self, values: Sequence[Any]) -> Any:
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(values))
