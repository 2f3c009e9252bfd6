"""Build plans of streaming queries, as Spark's analyzer returns them."""

from __future__ import annotations

from itertools import count
from typing import Any

from kafka_sql.definition import validate_table
from kafka_sql.spark.plan import AGGREGATE_FUNCTION, Expression, Operator
from kafka_sql.table.table import Column, Table

_ids = count(1000)


def column(name: str, id: int) -> Expression:
    return Expression("AttributeReference", text=name, type="long", id=id)


def literal(value: object, type: str = "integer") -> Expression:
    return Expression("Literal", text=str(value), type=type)


def alias(value: Expression, name: str, id: int | None = None) -> Expression:
    return Expression("Alias", (value,), text=name, id=next(_ids) if id is None else id)


def binary(name: str, left: Expression, right: Expression) -> Expression:
    return Expression(name, (left, right))


def count_of(value: Expression, text: str = "") -> Expression:
    return Expression(AGGREGATE_FUNCTION, (Expression("Count", (value,)),), text=text)


def source(provider: str = "kafka.src", **ids: int) -> Operator:
    return Operator("StreamingRelation", columns=tuple(column(n, i) for n, i in ids.items()), detail=provider)


def project(child: Operator, *columns: Expression) -> Operator:
    return Operator("Project", (child,), columns=columns)


def where(child: Operator, condition: Expression) -> Operator:
    return Operator("Filter", (child,), condition=condition)


def aggregate(child: Operator, keys: tuple[Expression, ...], *columns: Expression) -> Operator:
    return Operator("Aggregate", (child,), keys=keys, columns=columns)


def join(left: Operator, right: Operator, condition: Expression | None, type: str = "INNER") -> Operator:
    return Operator("Join", (left, right), condition=condition, detail=type)


def table(topics: str = "src", name: str = "src", key: tuple[str, ...] = (), **options: str) -> Any:
    """Return a validated table with the columns k and n."""
    formats = {"key.format": "json", "value.format": "json"} if key else {"format": "json"}
    columns = (Column("k", "INT", "INT"), Column("n", "BIGINT", "BIGINT"))
    all_options = {
        "connector": "upsert-kafka" if key else "kafka",
        "topic": topics,
        "properties.bootstrap.servers": "h:1",
        **formats,
        **options,
    }
    if not topics:
        del all_options["topic"]
    return validate_table(Table((name,), columns, all_options, primary_key=key))


def window(size: int, slide: int, offset: int = 0, time: Expression | None = None) -> Expression:
    """Return the struct to which Spark expands window(ts, size, slide, offset); durations in microseconds."""
    time = column("ts", 7) if time is None else time

    def precise(value: Expression) -> Expression:
        return Expression("PreciseTimestampConversion", (value,))

    shifted = binary("Subtract", precise(time), literal(offset, "long"))
    remainder = binary("Remainder", shifted, literal(slide, "long"))
    positive = binary("Add", remainder, literal(slide, "long"))
    case = Expression("CaseWhen", (binary("LessThan", remainder, literal(0)), positive, remainder))
    start = binary("Subtract", binary("Subtract", precise(time), case), literal(0, "long"))
    end = binary("Add", start, literal(size, "long"))
    return Expression(
        "CreateNamedStruct",
        (
            literal("start", "string"),
            Expression("KnownNullable", (precise(start),)),
            literal("end", "string"),
            Expression("KnownNullable", (precise(end),)),
        ),
    )
