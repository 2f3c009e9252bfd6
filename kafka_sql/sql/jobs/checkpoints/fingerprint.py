"""Describe what a checkpoint requires of a query.

A checkpoint has the offsets of each source and the rows that stateful operators keep. A query can resume from it if it
reads the same sources, in the same order, into the same sink, through the same stateful operators. Projections and
filters have no state and may change.

A fingerprint is JSON. It has no ids of expressions, which differ between sessions, and no strings of the query, which
may be secrets::

    {"version": 1,
     "sink": {"name": "table 'revenue'", "topics": ["revenue"], "key": ["country"]},
     "sources": [{"name": "table 'orders'", "topics": ["orders"]}],
     "operators": [{"operator": "aggregation", "window": ["window(ts, 1 hour)"], "grouping": ["country"],
                    "aggregates": ["count(1)"]}]}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kafka_sql.definition import Definition
from kafka_sql.options import connector as opt
from kafka_sql.options import dynamic
from kafka_sql.spark.expression_text import render
from kafka_sql.spark.plan import AGGREGATE_FUNCTION, Expression, Operator, reference, resolve

VERSION: Final = 1

Json = dict[str, Any]

_STATEFUL: Final = {  # operators of Spark that keep rows, with a name for messages
    "Aggregate": "aggregation",
    "Deduplicate": "deduplication",
    "DeduplicateWithinWatermark": "deduplication within the watermark",
    "Distinct": "DISTINCT",
    "GlobalLimit": "LIMIT",
    "Join": "join",
}
_ARBITRARY_STATE: Final = "WithState"  # in the names of operators such as FlatMapGroupsWithState, TransformWithState


def make_fingerprint(
    plan: Operator, sink: Json, sources: Mapping[str, Definition], states: Sequence[Json] = ()
) -> Json:
    """Return the fingerprint of a query.

    Args:
        sink: the description of the table that it writes, with its name.
        sources: the Kafka tables that it reads, by provider.
        states: its stateful operators that are of this package, and not of Spark.
    """
    plan = _number_sources(plan)
    leaves = [operator for operator in plan.walk() if not operator.children]
    return {
        "version": VERSION,
        "sink": sink,
        "sources": [
            _describe_table(sources[leaf.detail]) if leaf.detail in sources else {"name": f"source '{leaf.detail}'"}
            for leaf in leaves
        ],
        "operators": describe_operators(plan, states),
    }


def describe_sink(sink: Definition) -> Json:
    """Describe a Kafka table that a query writes."""
    return {**_describe_table(sink), **({"key": list(sink.table.primary_key)} if sink.is_upsert else {})}


def describe_operators(plan: Operator, states: Sequence[Json] = ()) -> list[Json]:
    """Return the stateful operators of a query, inputs first."""
    operators = list(_describe_operators(plan, {c.id for c in plan.output}))
    if states:  # in the plan, they are operators with any state
        operators = [operator for operator in operators if _ARBITRARY_STATE not in operator["operator"]]
    return [*operators, *states]


def describe_normalization(table: Definition) -> Json:
    """Describe the operator that keeps the rows of an upsert table."""
    columns = [f"{column.name} {column.type}" for column in table.table.source_columns]
    keys = list(table.table.primary_key)
    return {"operator": "ChangelogNormalize", "table": table.name, "keys": keys, "columns": columns}


def describe_written_rows(key: Sequence[str], columns: Sequence[str]) -> Json:
    """Describe the operator that keeps the rows of an upsert sink. They may be computed in other ways."""
    return {"operator": "ChangelogNormalize", "keys": list(key), "columns": list(columns)}


def describe_aggregate(aggregate: Operator) -> Json:
    """Describe the operator that keeps the values of an aggregate or a DISTINCT.

    The rows that it retracts must be computed in the same way as those that it has added.
    """
    description = describe_operators(aggregate)[-1]
    columns = description.pop("columns", [])  # of a DISTINCT
    return {"grouping": columns, **description, "operator": "GroupAggregate", "filters": _describe_filters(aggregate)}


def describe_materialization(query: Operator, key: Sequence[str], conflict: str = "DEDUPLICATE") -> Json:
    """Describe the operator that keeps the rows of each key of a sink."""
    strategy = {} if conflict == "DEDUPLICATE" else {"conflict": conflict}
    columns = list(map(render, _resolve_output(query, None)))
    filters = _describe_filters(query)
    return {"operator": "SinkUpsertMaterializer", "keys": list(key), "columns": columns, "filters": filters} | strategy


def describe_temporal_join(
    join_type: str,
    keys: Sequence[str],
    left: tuple[Operator, Mapping[int, str]],
    right: tuple[Operator, Mapping[int, str]],
) -> Json:
    """Describe the operator that keeps the rows and the versions of an event-time temporal join.

    Args:
        keys: the equal columns, as text.
        left: the rows, and the types of the columns that are kept, by id.
        right: the changes of the versioned table, and the types of the columns that are kept, by id.
    """
    return {"operator": "TemporalJoin", "type": join_type, "keys": list(keys), **_describe_sides(left, right)}


def describe_join(
    join_type: str,
    condition: Sequence[str],
    left: tuple[Operator, Mapping[int, str]],
    right: tuple[Operator, Mapping[int, str]],
) -> Json:
    """Describe the operator that keeps the rows of both sides of a regular join.

    Args:
        condition: its conjuncts, as text.
        left: the changes, and the types of the columns that are kept, by id.
        right: likewise.
    """
    filters = {f"{side} filters": _describe_filters(plan) for side, (plan, _) in (("left", left), ("right", right))}
    sides = _describe_sides(left, right)
    return {"operator": "Join", "type": join_type, "condition": list(condition), **sides, **filters}


def describe_over(rows: Operator, partition: Sequence[str], order: Sequence[str], functions: Sequence[str]) -> Json:
    """Describe the operator that keeps rows, or the values of functions, of an OVER window or a sort by time.

    Args:
        rows: its input.
        partition: the expressions of PARTITION BY, as text.
        order: the expressions of ORDER BY, as text.
        functions: the functions with their frames, as text; empty for a sort.
    """
    return {
        "operator": "OverAggregate" if functions else "TemporalSort",
        **({"partition": list(partition)} if functions else {}),
        "order": list(order),
        **({"functions": list(functions)} if functions else {}),
        "columns": _render_all(_resolve_output(rows, None)),
        "filters": _describe_filters(rows),
    }


def describe_sessions(rows: Operator, types: Mapping[int, str], keys: Sequence[str]) -> Json:
    """Describe the operator that keeps the rows of sessions until these end.

    Args:
        types: the types of its columns, by id.
        keys: the columns of PARTITION BY, as text.
    """
    columns = [
        f"{render(resolve(reference(column), (rows,)))} {types[column.id]}"
        for column in rows.output
        if column.id is not None and column.id in types
    ]
    return {
        "operator": "WindowTableFunction",
        "keys": list(keys),
        "columns": columns,
        "filters": _describe_filters(rows),
    }


def describe_rank(name: str, operator: Operator, orders: Sequence[str], limit: int, types: Mapping[int, str]) -> Json:
    """Describe the operator that keeps the rows of a Top-N or a deduplication.

    Args:
        name: the operator's name in Flink.
        operator: Spark's operator Window or Sort.
        orders: the expressions of ORDER BY, as text.
        limit: the last rank.
        types: the types of the columns that are kept, by id.
    """
    inputs = operator.children
    keys = [render(resolve(key, inputs)) for key in operator.others if key.name != "SortOrder"]
    columns = [
        f"{render(resolve(reference(column), inputs))} {types[column.id]}"
        for column in inputs[0].output
        if column.id is not None and column.id in types
    ]
    description: Json = {"operator": name, "keys": keys, "order": list(orders), "limit": limit, "columns": columns}
    return description | {"filters": _describe_filters(operator)}


def _describe_sides(
    left: tuple[Operator, Mapping[int, str]], right: tuple[Operator, Mapping[int, str]]
) -> dict[str, list[str]]:
    """Return the columns that the state keeps of both sides of a join, with their types."""
    return {
        side: [
            f"{render(resolve(reference(column), (operator,)))} {types[column.id]}"
            for column in operator.output
            if column.id is not None and column.id in types
        ]
        for side, (operator, types) in (("left", left), ("right", right))
    }


def _describe_filters(operator: Operator) -> list[str]:
    return [render(resolve(o.condition, o.children)) for o in operator.walk() if o.name == "Filter" and o.condition]


def _describe_table(definition: Definition) -> Json:
    if definition.is_dynamic:
        streams = definition.options.get(dynamic.STREAM_IDS) or (definition.options.get(dynamic.STREAM_PATTERN),)
        return {"name": f"table '{definition.name}'", "streams": list(streams)}
    topics = opt.topics(definition.options)
    where: Json = {"pattern": definition.options[opt.TOPIC_PATTERN]} if topics is None else {"topics": list(topics)}
    return {"name": f"table '{definition.name}'", **where}


def _number_sources(plan: Operator) -> Operator:
    """Return the plan with the number of its source before each source column, if there are several sources."""
    leaves = [operator for operator in plan.walk() if not operator.children]
    numbers = iter(range(1, len(leaves) + 1))

    def number(operator: Operator) -> Operator:
        if not operator.is_streaming:
            return operator
        if operator.children:
            return replace(operator, children=tuple(map(number, operator.children)))
        n = next(numbers)
        return replace(operator, columns=tuple(replace(c, text=f"{n}.{c.text}") for c in operator.columns))

    return number(plan) if len(leaves) > 1 else plan


def _describe_operators(operator: Operator, used: set[int | None] | None) -> Iterator[Json]:
    """Yield the stateful operators of a plan, inputs first.

    Args:
        used: the ids of the operator's columns that the operators after it use; None for all.
    """
    if not operator.is_streaming:
        return
    needed = _used_columns(operator, used)
    for child in operator.children:
        yield from _describe_operators(child, needed)
    name = _STATEFUL.get(operator.name)
    if name is None:
        if _ARBITRARY_STATE in operator.name:
            yield {"operator": operator.name}
        return
    description: Json = {"operator": name}
    inputs = operator.children
    match operator.name:
        case "Aggregate":
            keys = [render(resolve(key, inputs)) for key in operator.keys]
            windows = [key for key in keys if key.startswith(("window(", "session_window("))]
            description["window"] = windows
            description["grouping"] = [key for key in keys if key not in windows]
            description |= _describe_grouping_sets(operator)
            description["aggregates"] = _render_all(
                part
                for column in operator.columns
                for part in resolve(column, inputs).walk()
                if part.name == AGGREGATE_FUNCTION
            )
        case "Deduplicate" | "DeduplicateWithinWatermark":
            description["keys"] = _render_all(resolve(key, inputs) for key in operator.keys)
        case "Distinct":
            description["columns"] = _render_all(_resolve_output(inputs[0], None))
        case "Join":
            if not all(child.is_streaming for child in inputs):  # a join with a table keeps no rows
                return
            condition = operator.condition
            description["type"] = operator.detail
            description["condition"] = render(resolve(condition, inputs)) if condition is not None else ""
            for side, child in zip(("left", "right"), inputs, strict=True):
                description[side] = sorted(_render_all(_resolve_output(child, needed)))
    yield description


def _describe_grouping_sets(aggregate: Operator) -> Json:
    """Describe GROUPING SETS, CUBE and ROLLUP, which are an Expand with a number for each set; nothing for others."""
    (source,) = aggregate.children
    while source.name in ("Filter", "Project"):
        (source,) = source.children
    if source.name != "Expand" or source.columns[-1].text != "spark_grouping_id":
        return {}
    width = len(source.columns)
    values = (*(column.children[0] for column in source.columns), *source.others)
    return {"grouping sets": [render(value) for value in values[width - 1 :: width]]}


def _used_columns(operator: Operator, used: set[int | None] | None) -> set[int | None] | None:
    """Return the ids of the input columns that an operator uses to return its own ``used`` columns; None for all."""
    match operator.name:
        case "Project" | "CTERelationRef" | "Expand":
            return _references(c for c in operator.columns if used is None or c.id in used)
        case "Aggregate":
            return _references((*operator.keys, *operator.columns))
        case "Filter" | "Join":
            condition = operator.condition
            return None if used is None else used | _references(() if condition is None else (condition,))
        case "SubqueryAlias" | "View" | "EventTimeWatermark" | "Repartition" | "RepartitionByExpression":
            return used
    return None


def _references(expressions: Iterable[Expression]) -> set[int | None]:
    return {part.id for e in expressions for part in e.walk() if part.name == "AttributeReference"}


def _resolve_output(operator: Operator, used: set[int | None] | None) -> Iterator[Expression]:
    for column in operator.output:
        if used is None or column.id in used:
            yield resolve(reference(column), (operator,))


def _render_all(expressions: Iterator[Expression]) -> list[str]:
    """Return each expression as text, once."""
    return list(dict.fromkeys(map(render, expressions)))
