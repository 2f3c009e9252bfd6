"""Describe the operators of a continuous query for EXPLAIN, by the names that Flink's EXPLAIN gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_sql.spark.catalyst import Node, Plan, class_name, elements, is_event_time, output, show, walk
from kafka_sql.spark.event_time import is_event_time_call
from kafka_sql.spark.plan import STREAM
from kafka_sql.sql.jobs.changelog.relation import Mode, Relation
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json
from kafka_sql.sql.rewrite.stream_query import EVENT_TIME

# operators of Spark, and those of Flink that do the same
_NAMES: Final = {
    "Aggregate": "GroupAggregate",
    "Distinct": "GroupAggregate",
    "EventTimeWatermark": "WatermarkAssigner",
    "Filter": "Calc",
    "Generate": "Correlate",
    "GlobalLimit": "Limit",
    "Project": "Calc",
}
_TRANSPARENT: Final = frozenset(
    {"CTERelationRef", "CollectMetrics", "LocalLimit", "ResolvedHint", "SubqueryAlias", "View", "WithCTE"}
)
_RENAMES: Final = ("Alias", "AttributeReference", "Cast")
_ATTRIBUTES: Final = {"aggregates": "select", "condition": "where", "grouping": "groupBy", "type": "joinType"}


@dataclass(frozen=True)
class Step:
    """An operator of Spark's plan, the rows that it became, and its inputs."""

    plan: Plan
    relation: Relation
    inputs: tuple[Step, ...]

    def has_changes(self) -> bool:
        """Return whether rows of this operator, or of one before it, change. Versions do not count."""
        if not self.relation.is_insert_only:
            return True
        inputs = self.inputs[:1] if class_name(self.plan) == "Join" else self.inputs
        return any(step.has_changes() for step in inputs)


@dataclass(frozen=True)
class _Node:
    """An operator as EXPLAIN shows it."""

    name: str
    attributes: Mapping[str, Sequence[str]]
    mode: Mode
    inputs: tuple[_Node, ...] = ()

    def lines(self, prefix: str = "", indent: str = "") -> list[str]:
        """Return the operator and its inputs, one per line."""
        attributes = [f"{name}=[{', '.join(values)}]" for name, values in self.attributes.items() if values]
        lines = [f"{prefix}{self.name}({', '.join([*attributes, f'changelogMode={self.mode}'])})"]
        for i, node in enumerate(self.inputs, 1):
            is_last = i == len(self.inputs)
            lines += node.lines(f"{indent}{'+- ' if is_last else ':- '}", f"{indent}{'   ' if is_last else ':  '}")
        return lines


def show_operators(root: Step, states: Sequence[Json], sink: str, mode: Mode, tables: Mapping[str, str]) -> str:
    """Return the operators of a query as Flink shows them, with their keys and changelog modes.

    For example::

        Sink(table=[default.totals], changelogMode=[I,UA,D])
        +- GroupAggregate(groupBy=[name], select=[name, count(1) AS n], changelogMode=[I,UA,D])
           +- TableSourceScan(table=[default.products], fields=[name, weight], changelogMode=[I,UB,UA,D])

    Args:
        root: the last operator of the query.
        states: the stateful operators of this package, also those that the table needs.
        sink: the name of the table.
        mode: how the rows change that are written.
        tables: the names of the Kafka tables, by provider.
    """
    nodes = _add_states(_describe(root, tables), states[len(root.relation.states) :], mode)
    return "\n".join(_Node("Sink", {"table": [sink]}, mode, nodes).lines())


def _describe(step: Step, tables: Mapping[str, str]) -> tuple[_Node, ...]:
    """Return the nodes of an operator; those of its inputs if it only passes their rows on."""
    name, relation = class_name(step.plan), step.relation
    inputs = tuple(node for input in step.inputs for node in _describe(input, tables))
    own_states = relation.states[sum(len(input.relation.states) for input in step.inputs) :]
    if name.startswith(STREAM):
        source = str(step.plan.sourceName())
        mode = relation.mode if not own_states else Mode.UPSERT
        fields = [str(column.name()) for column in output(step.plan)]
        inputs = (_Node("TableSourceScan", {"table": [tables.get(source, source)], "fields": fields}, mode),)
    if own_states or name.startswith(STREAM):
        return _add_states(inputs, own_states, relation.mode)
    is_removed = len(step.inputs) == 1 and relation.plan.equals(step.inputs[0].relation.plan)
    if name in _TRANSPARENT or is_removed or not step.plan.isStreaming() or _only_renames(step.plan):
        return inputs
    mode = Mode.UPDATING if relation.row_kind is None and relation.mode == Mode.UPSERT else relation.mode
    if name == "Aggregate" and any(map(_is_window, elements(step.plan.groupingExpressions()))):
        name = "WindowAggregate"
    return (_Node(_NAMES.get(name, name), _attributes(step.plan), mode, inputs),)


def _add_states(inputs: tuple[_Node, ...], states: Iterable[Json], mode: Mode) -> tuple[_Node, ...]:
    """Return nodes below the stateful operators of this package, as the fingerprint describes them."""
    for state in states:
        attributes = {
            _ATTRIBUTES.get(name, name): [value] if isinstance(value, str) else list(map(str, value))
            for name, value in state.items()
            if name != "operator" and "filters" not in name and isinstance(value, str | list)
        }
        inputs = (_Node(state["operator"], attributes, mode, inputs),)
    return inputs


def _is_window(grouping: Node) -> bool:
    return class_name(grouping) in ("Alias", "AttributeReference") and is_event_time(grouping)


def _only_renames(plan: Plan) -> bool:
    """Return whether an operator computes nothing but the hidden column of an event time."""
    if class_name(plan) != "Project":
        return False
    items = [item for item in elements(plan.projectList()) if str(item.name()) != EVENT_TIME]
    return all(class_name(part) in _RENAMES or is_event_time_call(part) for item in items for part in walk(item))


def _attributes(plan: Plan) -> dict[str, list[str]]:
    match class_name(plan):
        case "Project":
            return {"select": _show_all(elements(plan.projectList()))}
        case "Filter":
            return {"where": [show(plan.condition())]}
        case "Aggregate":
            groupings, items = elements(plan.groupingExpressions()), elements(plan.aggregateExpressions())
            return {"groupBy": _show_all(groupings), "select": _show_all(items)}
        case "Join":
            condition = [show(plan.condition().get())] if plan.condition().isDefined() else []
            return {"joinType": [str(plan.joinType().sql())], "where": condition}
    return {}


def _show_all(items: Sequence[Node]) -> list[str]:
    return [f"{show(i.child())} AS {i.name()}" if class_name(i) == "Alias" else show(i) for i in items]
