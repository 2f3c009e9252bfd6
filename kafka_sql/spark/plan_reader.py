"""Read the analyzed plan of a DataFrame.

A classic session transfers the plan once, as the JSON of Spark's TreeNode: all nodes in one array, parents first. A
client of Spark Connect only has the text of EXPLAIN, which names the operators (see ``explained_plan``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.event_time import PASS_EVENT_TIME
from kafka_sql.spark.explain import explain
from kafka_sql.spark.explained_plan import parse_explained_plan
from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jvm import JAVA_EXCEPTIONS, JavaObject, query_execution
from kafka_sql.spark.plan import ATTRIBUTE, STREAM, WATERMARK, Expression, Operator, reference

_FAILS = "streaming INSERTs fail before they start"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan",
        "the operators of a query, and the watermarks of their columns",
        _FAILS,
        members=("children/0", "output/0", "schema/0", "toJSON/0"),
    ),
    JavaClass(
        "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation",
        "which tables are read again in each micro-batch",
        _FAILS,
        members=("table/0",),
    ),
)

WATERMARK_METADATA: Final = "spark.watermarkDelayMs"  # of the columns that are event times
_PLAN: Final = "_kafka_sql_plan"  # attribute of a DataFrame
_V2_TABLE: Final = "DataSourceV2Relation"
_JOIN_TYPES: Final = {
    "Cross": "CROSS",
    "FullOuter": "FULL OUTER",
    "Inner": "INNER",
    "LeftAnti": "LEFT ANTI",
    "LeftOuter": "LEFT OUTER",
    "LeftSemi": "LEFT SEMI",
    "RightOuter": "RIGHT OUTER",
}

Json: TypeAlias = Mapping[str, Any]


def read_plan(query: DataFrame) -> Operator:
    """Return the analyzed plan of a DataFrame, which is read once; over Spark Connect, only the names of its operators.

    Raises:
        UnsupportedSqlError: the plan cannot be read.
    """
    plan: Operator | None = query.__dict__.get(_PLAN)
    if plan is None:
        if is_connect(query.sparkSession):
            plan = parse_explained_plan(explain(query, "extended"))
        else:
            plan = read_operator(query_execution(query).analyzed())
        query.__dict__[_PLAN] = plan
    return plan


def read_operator(plan: JavaObject, definitions: Mapping[int, JavaObject] = MappingProxyType({})) -> Operator:
    """Return an operator of the JVM.

    Args:
        definitions: the plans of common table expressions (WITH) by their ids.

    Raises:
        UnsupportedSqlError: Spark cannot describe it.
    """
    known: dict[int, Operator] = {}
    for id, definition in definitions.items():
        known[id] = _PlanParser(_to_json(definition), known).parse(definition)
    return _PlanParser(_to_json(plan), known).parse(plan)


def read_expression(expression: JavaObject) -> Expression:
    """Return an expression of the JVM.

    Raises:
        UnsupportedSqlError: Spark cannot describe it.
    """
    return parse_expression(_to_json(expression))


def _to_json(node: JavaObject) -> list[Json]:
    try:
        nodes: list[Json] = json.loads(node.toJSON())
    except JAVA_EXCEPTIONS as e:
        name = str(node.getClass().getSimpleName())
        reason = str(e).partition("\n")[0]
        raise UnsupportedSqlError(
            f"The query cannot be checked, because Spark cannot describe its operator {name}: {reason}. Replace the "
            "functions in it that are not Spark's."
        ) from None
    return nodes


def parse_plan(nodes: Sequence[Json]) -> Operator:
    """Return a plan from the JSON of Spark's TreeNode, without the classes of its tables and without watermarks."""
    return _PlanParser(nodes, {}).parse()


def parse_expression(nodes: Iterable[Json]) -> Expression:
    """Return an expression from the JSON of Spark's TreeNode: all its nodes, parents first."""
    return _take(iter(nodes))


def _take(nodes: Iterator[Json]) -> Expression:
    node = next(nodes)
    name = _class_name(node)
    children = tuple(_take(nodes) for _ in range(node["num-children"]))
    if node.get("functionName") == PASS_EVENT_TIME:
        return children[0]
    data_type = node.get("dataType", "")
    column = node.get("exprId") if name in ("Alias", ATTRIBUTE) else None
    subquery = node.get("plan")
    return Expression(
        name,
        children,
        _text(name, node),
        data_type if isinstance(data_type, str) else json.dumps(data_type, sort_keys=True),
        column["id"] if column is not None else None,
        subquery=parse_plan(subquery) if isinstance(subquery, list) and subquery else None,
    )


def _class_name(node: Json) -> str:
    return str(node["class"]).rpartition(".")[2]


def _text(name: str, node: Json) -> str:
    match name:
        case "Literal" if node.get("dataType") == "binary":
            return ""  # Spark writes the identity of the array instead of its value
        case "Literal":
            return "NULL" if node.get("value") is None else str(node["value"])
        case "GetStructField":
            return str(node.get("name") or node["ordinal"])
        case "SortOrder":
            is_descending = "Descending" in json.dumps(node.get("direction"))
            is_default = ("NullsLast" in json.dumps(node.get("nullOrdering"))) == is_descending
            nulls = "" if is_default else " NULLS FIRST" if is_descending else " NULLS LAST"
            return ("DESC" if is_descending else "ASC") + nulls
        case "SpecifiedWindowFrame":
            return "rows" if "RowFrame" in json.dumps(node.get("frameType")) else "range"
        case "ScalaUDF":
            return str(node.get("udfName") or "")
        case "AggregateExpression":
            return "DISTINCT" if node.get("isDistinct") else ""
    text = node.get("name", "")
    return text if isinstance(text, str) else ""


class _PlanParser:
    """Parses the nodes of a plan, parents first.

    The JSON has neither the class of a table nor the metadata of a column. Both are read from the operators of the JVM.
    """

    def __init__(self, nodes: Sequence[Json], definitions: dict[int, Operator]) -> None:
        """Prepare to parse."""
        self._nodes, self._definitions = iter(nodes), definitions
        self._needs_java = any(_class_name(node) in (_V2_TABLE, WATERMARK) for node in nodes)

    def parse(self, plan: JavaObject = None) -> Operator:
        """Return the next operator."""
        return self._parse(plan if self._needs_java else None)[0]

    def _parse(self, plan: JavaObject) -> tuple[Operator, frozenset[int]]:
        """Return the next operator, and the ids of its event times."""
        node = next(self._nodes)
        name, count = _class_name(node), node["num-children"]
        plans = [None] * count if plan is None else [plan.children().apply(i) for i in range(count)]
        parsed = [self._parse(child) for child in plans]
        times = frozenset() if plan is None else _event_times(plan)
        operator = self._operator(name, node, tuple(child for child, _ in parsed))
        operator = _mark_event_times(operator, times.union(*(ids for _, ids in parsed)), times)
        if name == _V2_TABLE and plan is not None:
            table = plan.table()
            class_name = str(table.getClass().getSimpleName())
            operator = replace(operator, table=str(table.name()), table_class=class_name)
        return operator, times

    def _operator(self, name: str, node: Json, children: tuple[Operator, ...]) -> Operator:
        if name == "CTERelationDef":
            self._definitions[node["id"]] = children[0]
        if name == "WithCTE":
            return children[-1]
        if name == "CTERelationRef" and node["cteId"] in self._definitions:
            child = self._definitions[node["cteId"]]
            columns = _aliases(_expressions(node["output"]), map(reference, child.output))
            return Operator(name, (child,), child.is_streaming, columns)
        is_streaming = any(child.is_streaming for child in children)
        if not children:  # a class that is not known is a stream if it has the word in its name
            is_streaming = bool(node["isStreaming"]) if "isStreaming" in node else "Stream" in name
        return _with_expressions(Operator(name, children, is_streaming), node)


def _event_times(plan: JavaObject) -> frozenset[int]:
    """Return the ids of an operator's columns that have a watermark."""
    fields = enumerate(json.loads(plan.schema().json())["fields"])
    positions = [i for i, field in fields if WATERMARK_METADATA in field["metadata"]]
    return frozenset(int(plan.output().apply(i).exprId().id()) for i in positions)


def _mark_event_times(operator: Operator, used: frozenset[int], returned: frozenset[int]) -> Operator:
    """Return an operator whose expressions show which columns are event times.

    Args:
        used: the ids of those of the operator and its inputs.
        returned: the ids of those of the operator.
    """
    if not used:
        return operator
    return replace(
        operator,
        columns=tuple(replace(_mark(c, used), is_event_time=c.id in returned) for c in operator.columns),
        keys=tuple(_mark(key, used) for key in operator.keys),
        condition=None if operator.condition is None else _mark(operator.condition, used),
        others=tuple(_mark(other, used) for other in operator.others),
    )


def _mark(expression: Expression, ids: frozenset[int]) -> Expression:
    children = tuple(_mark(child, ids) for child in expression.children)
    is_event_time = expression.id in ids or (expression.name == "Alias" and children[0].is_event_time)
    return replace(expression, children=children, is_event_time=is_event_time)


def _with_expressions(operator: Operator, node: Json) -> Operator:
    """Return an operator with the expressions of its node."""
    children = operator.children
    match operator.name:
        case "Project":
            return replace(operator, columns=_expressions(node["projectList"]))
        case "Aggregate":
            keys, columns = _expressions(node["groupingExpressions"]), _expressions(node["aggregateExpressions"])
            return replace(operator, keys=keys, columns=columns)
        case "Expand":  # several rows per row, such as one per sliding window
            first, *others = node["projections"]
            columns = _aliases(_expressions(node["output"]), _expressions(first))
            return replace(operator, columns=columns, others=_expressions(others))
        case "Generate":  # several rows per row, such as one per element of an array
            generated = _expressions(node["generatorOutput"])
            columns = _aliases(generated, _expressions(node["generator"]) * len(generated))
            return replace(operator, columns=(*map(reference, children[0].output), *columns))
        case "Window":
            columns = _expressions(node["windowExpressions"])
            others = _expressions([node["partitionSpec"], node["orderSpec"]])
            return replace(operator, columns=(*map(reference, children[0].output), *columns), others=others)
        case "EventTimeWatermark":
            return replace(operator, columns=tuple(map(reference, children[0].output)))
        case "Filter":
            return replace(operator, condition=_expressions(node["condition"])[0])
        case "Join":
            join_type = node["joinType"]
            detail = str(join_type.get("object") or join_type.get("product-class")).rpartition(".")[2].rstrip("$")
            condition = next(iter(_expressions(node.get("condition"))), None)
            exists = _expressions(join_type["exists"]) if "exists" in join_type else ()
            columns = (*map(reference, children[0].output), *exists) if exists else ()
            detail = _JOIN_TYPES.get(detail, detail)
            return replace(operator, condition=condition, detail=detail, columns=columns)
        case "Deduplicate" | "DeduplicateWithinWatermark":
            return replace(operator, keys=_expressions(node["keys"]))
        case "SubqueryAlias":
            identifier = node["identifier"]
            qualifier = identifier.get("qualifier") or ""
            table = f"{qualifier[1:-1].replace(', ', '.')}.{identifier['name']}" if isinstance(qualifier, str) else ""
            return replace(operator, detail=str(identifier["name"]), table=table.lstrip("."))
    if children:
        own = {"class", "num-children", "output"}
        columns = _expressions(node.get("output"))
        others = _expressions([value for key, value in node.items() if key not in own])
        return replace(operator, columns=columns, others=others)
    detail = str(node["sourceName"]) if operator.name.startswith(STREAM) else operator.name
    return replace(operator, columns=_expressions(node.get("output")), detail=detail)


def _expressions(value: Any) -> tuple[Expression, ...]:
    """Return the expressions of a node's field: one expression, or several, possibly in several lists."""
    if not isinstance(value, list) or not value:
        return ()
    if isinstance(value[0], dict):
        return (parse_expression(value),) if "class" in value[0] else ()
    return tuple(expression for part in value for expression in _expressions(part))


def _aliases(names: Iterable[Expression], values: Iterable[Expression]) -> tuple[Expression, ...]:
    return tuple(replace(n, name="Alias", children=(v,)) for n, v in zip(names, values, strict=True))
