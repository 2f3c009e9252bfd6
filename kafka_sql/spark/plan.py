"""Read Spark's analyzed plan of a streaming query: its operators, and the expressions of its columns.

The plan is a tree of objects in Spark's JVM. Spark Connect has no JVM; there, the tree is read from EXPLAIN, without
expressions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as with_fields
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import DataFrame

from kafka_sql.spark.context import spark_context
from kafka_sql.spark.internal import Internal, PythonName
from kafka_sql.spark.jvm import JavaError, query_execution

INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName(
        "pyspark.sql.connect.dataframe.DataFrame._explain_string",
        "a client of Spark Connect has no other way to the operators of a query",
        "streaming INSERTs over Spark Connect fail before they start",
    ),
)

AGGREGATE_FUNCTION: Final = "AggregateExpression"  # Spark's class of a call of an aggregate function
OPERATOR_NAMES: Final = {  # what messages call operators over an updating result
    "Aggregate": "another aggregate",
    "Deduplicate": "a deduplication",
    "DeduplicateWithinWatermark": "a deduplication",
    "Distinct": "DISTINCT",
    "Generate": "a table-generating function such as explode",
    "GlobalLimit": "LIMIT",
    "Join": "a join",
    "LocalLimit": "LIMIT",
    "Sample": "TABLESAMPLE",
}
SOURCE_COLUMN: Final = "SourceColumn"  # not a class of Spark: a column that a source returns

_ANALYZED_PLAN: Final = re.compile(r"== Analyzed Logical Plan ==\n[^\n]*\n(.*?)\n== ", re.DOTALL)  # after the schema
_TREE_LINE: Final = re.compile(r"^(?P<prefix>[ :]*(?:[+:]- )?)[~!']?(?P<name>[A-Z]\w*)(?: (?P<number>\d+))?")
_PREFIX_WIDTH: Final = 3  # characters per level of the tree
_STREAM_LEAF: Final = "StreamingRelation"  # beginning of the classes of streaming sources


@dataclass(frozen=True)
class Expression:
    """An expression tree.

    ``a % 2`` is ``Expression("Remainder", (Expression("AttributeReference", text="a", id=7), Expression("Literal",
    text="2", type="integer")))``.

    Attributes:
        name: Spark's class.
        children: the arguments.
        text: the name of a column, field or function, the value of a literal, or DISTINCT.
        type: the type of a literal, a column or a cast, in Spark's JSON notation.
        id: the id of a column, unique in the plan; None for other expressions.
    """

    name: str
    children: tuple[Expression, ...] = ()
    text: str = ""
    type: str = ""
    id: int | None = None

    def walk(self) -> Iterator[Expression]:
        """Yield the expression and all expressions in it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Operator:
    """An operator of a plan, with the operators that it reads from.

    Attributes:
        name: Spark's class, such as Filter.
        children: its inputs.
        is_streaming: whether it reads a stream. The inputs of other operators are omitted.
        columns: the columns that it returns, aliases or attributes; empty if it returns those of its inputs.
        keys: the grouping expressions of an aggregate, or the columns of a deduplication.
        condition: the condition of a filter or join; None if there is none.
        detail: the provider of a source, the type of a join, or the name of a subquery.
    """

    name: str
    children: tuple[Operator, ...] = ()
    is_streaming: bool = True
    columns: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
    condition: Expression | None = None
    detail: str = ""

    @property
    def output(self) -> tuple[Expression, ...]:
        """The columns that it returns."""
        if self.columns or not self.children:
            return self.columns
        if self.name != "Join":
            return self.children[0].output
        if self.detail in ("LEFT SEMI", "LEFT ANTI"):
            return self.children[0].output
        return tuple(column for child in self.children for column in child.output)

    def walk(self) -> Iterator[Operator]:
        """Yield the operators that read streams, inputs first."""
        if self.is_streaming:
            for child in self.children:
                yield from child.walk()
            yield self


def reference(column: Expression) -> Expression:
    """Return a reference to a column that an operator returns."""
    return with_fields(column, name="AttributeReference", children=())


def read_plan(query: DataFrame) -> Operator:
    """Return the analyzed plan of a DataFrame; over Spark Connect, only the names of its operators."""
    untyped: Any = query
    if spark_context(query.sparkSession) is None:
        return parse_explained_plan(untyped._explain_string(extended=True))
    return read_operator(query_execution(query).analyzed())


def parse_expression(text: str) -> Expression:
    """Return an expression from the JSON of Spark's TreeNode: all its nodes in one array, parents first."""
    nodes = iter(json.loads(text))

    def take() -> Expression:
        node = next(nodes)
        name = node["class"].rpartition(".")[2]
        children = tuple(take() for _ in range(node["num-children"]))
        data_type = node.get("dataType", "")
        column = node.get("exprId") if name in ("Alias", "AttributeReference") else None
        return Expression(
            name,
            children,
            _node_text(name, node),
            data_type if isinstance(data_type, str) else json.dumps(data_type, sort_keys=True),
            column["id"] if column is not None else None,
        )

    return take()


def _node_text(name: str, node: Mapping[str, Any]) -> str:
    match name:
        case "Literal":
            return "NULL" if node.get("value") is None else str(node["value"])
        case "GetStructField":
            return str(node.get("name") or node["ordinal"])
        case "ScalaUDF":
            return str(node.get("udfName") or "")
        case "AggregateExpression":
            return "DISTINCT" if node.get("isDistinct") else ""
    text = node.get("name", "")
    return text if isinstance(text, str) else ""


def read_operator(plan: Any, definitions: Mapping[int, Any] = MappingProxyType({})) -> Operator:
    """Return an operator of the JVM.

    Args:
        definitions: the plans of common table expressions (WITH) by their ids.
    """
    name = str(plan.getClass().getSimpleName())
    if name == "WithCTE":
        known = {**definitions, **{d.id(): d.child() for d in _elements(plan.cteDefs())}}
        return read_operator(plan.plan(), known)
    if name == "CTERelationRef" and plan.cteId() in definitions:
        child = read_operator(definitions[plan.cteId()], definitions)
        columns = _aliases(_read_all(plan.output()), map(reference, child.output))
        return Operator(name, (child,), child.is_streaming, columns)
    if not plan.isStreaming():
        return Operator(name, is_streaming=False)
    children = tuple(read_operator(child, definitions) for child in _elements(plan.children()))
    operator = Operator(name, children)
    match name:
        case "Project":
            return with_fields(operator, columns=_read_all(plan.projectList()))
        case "Aggregate":
            keys = _read_all(plan.groupingExpressions())
            return with_fields(operator, keys=keys, columns=_read_all(plan.aggregateExpressions()))
        case "Expand":  # several rows per row, such as one per sliding window
            columns = _aliases(_read_all(plan.output()), _read_all(plan.projections().apply(0)))
            return with_fields(operator, columns=columns)
        case "Generate":  # several rows per row, such as one per element of an array
            generated = _read_all(plan.generatorOutput())
            columns = _aliases(generated, [read_expression(plan.generator())] * len(generated))
            return with_fields(operator, columns=(*map(reference, children[0].output), *columns))
        case "Filter":
            return with_fields(operator, condition=read_expression(plan.condition()))
        case "Join":
            condition = plan.condition()
            return with_fields(
                operator,
                condition=read_expression(condition.get()) if condition.isDefined() else None,
                detail=str(plan.joinType().sql()),
            )
        case "Deduplicate" | "DeduplicateWithinWatermark":
            return with_fields(operator, keys=_read_all(plan.keys()))
        case "SubqueryAlias":
            return with_fields(operator, detail=str(plan.alias()))
    if children:
        return operator
    provider = str(plan.sourceName()) if name.startswith(_STREAM_LEAF) else name
    return with_fields(operator, columns=_read_all(plan.output()), detail=provider)


def _aliases(names: Iterable[Expression], values: Iterable[Expression]) -> tuple[Expression, ...]:
    return tuple(with_fields(n, name="Alias", children=(v,)) for n, v in zip(names, values, strict=True))


def _elements(sequence: Any) -> list[Any]:
    """Return the elements of a Scala sequence."""
    return [sequence.apply(i) for i in range(sequence.size())]


def _read_all(sequence: Any) -> tuple[Expression, ...]:
    return tuple(map(read_expression, _elements(sequence)))


def read_expression(expression: Any) -> Expression:
    """Return an expression of the JVM."""
    try:
        return parse_expression(expression.toJSON())
    except JavaError:  # Spark cannot convert every class to JSON
        name = str(expression.getClass().getSimpleName())
        return Expression(name, _read_all(expression.children()))


def parse_explained_plan(explained: str) -> Operator:
    """Return the operators of the analyzed plan in the text of EXPLAIN EXTENDED.

    The text does not show which columns are aggregates. So every condition counts as one of an aggregate, and the
    operators have no columns.
    """
    plan = _ANALYZED_PLAN.search(explained)
    lines = [match for line in (plan[1].splitlines() if plan else ()) if (match := _TREE_LINE.match(line))]
    levels = [len(match["prefix"]) // _PREFIX_WIDTH for match in lines]
    definitions = {match["number"]: i for i, match in enumerate(lines) if match["name"] == "CTERelationDef"}

    def inputs(start: int) -> tuple[Operator, ...]:
        end = next((i for i in range(start + 1, len(lines)) if levels[i] <= levels[start]), len(lines))
        return tuple(build(i) for i in range(start + 1, end) if levels[i] == levels[start] + 1)

    def build(start: int) -> Operator:
        name = lines[start]["name"]
        children = inputs(start)
        if name == "WithCTE":
            return children[-1]
        if name == "CTERelationRef":
            children = inputs(definitions[lines[start]["number"]])
        is_streaming = name.startswith(_STREAM_LEAF) or any(child.is_streaming for child in children)
        return Operator(name, children, is_streaming, condition=Expression(AGGREGATE_FUNCTION))

    return build(0) if lines else Operator("Project")


def resolve(expression: Expression, inputs: tuple[Operator, ...]) -> Expression:
    """Return an expression over the sources' columns: column references are replaced by what they stand for.

    Args:
        inputs: the operators that return the columns to which the expression refers.
    """
    if expression.name == "AttributeReference":
        for operator in inputs:
            resolved = _resolve_column(expression, operator)
            if resolved is not None:
                return resolved
        return with_fields(expression, name=SOURCE_COLUMN, id=None)  # of a table that is not a stream
    children = tuple(resolve(child, inputs) for child in expression.children)
    if expression.name == "Alias":
        return children[0]
    return with_fields(expression, children=children)


def _resolve_column(column: Expression, operator: Operator) -> Expression | None:
    """Return what a column of an operator's output stands for; None if the operator does not return it."""
    if operator.name == "Union":
        return _resolve_union(column, operator)
    for definition in operator.columns:
        if definition.id == column.id and definition.id is not None:
            if not operator.children:
                return with_fields(definition, name=SOURCE_COLUMN, id=None)
            return resolve(definition, operator.children)
    if operator.columns:
        return None
    return next(filter(None, (_resolve_column(column, child) for child in operator.children)), None)


def _resolve_union(column: Expression, operator: Operator) -> Expression | None:
    """Return what a column of a union stands for in each of its inputs; it has the id of the first one's column."""
    ids = [c.id for c in operator.output]
    if column.id not in ids:
        return None
    position = ids.index(column.id)
    columns = [(child.output[position], child) for child in operator.children if position < len(child.output)]
    resolved = dict.fromkeys(resolve(reference(c), (child,)) for c, child in columns)
    return next(iter(resolved)) if len(resolved) == 1 else Expression("Union", tuple(resolved))
