"""Translate the aggregate functions of Spark to those of the operator GroupAggregate, which can retract rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import Catalyst, Node, aggregate_calls, class_name, elements, show
from kafka_sql.sql.jobs.changelog.aggregate_calls import all_of
from kafka_sql.sql.jobs.changelog.relation import MakeError
from kafka_sql.sql.rewrite.row_numbers import ORDER_COLUMN

# the functions of one argument, by Spark's classes
_FUNCTIONS: Final = {
    "Average": "avg",
    "BoolAnd": "min",
    "BoolOr": "max",
    "Max": "max",
    "Min": "min",
    "StddevPop": "stddev_pop",
    "StddevSamp": "stddev_samp",
    "Sum": "sum",
    "VariancePop": "var_pop",
    "VarianceSamp": "var_samp",
}
_EXTREMES: Final = {"MaxBy": "max_by", "MinBy": "min_by"}
# the functions whose result depends on the order in which rows arrive
_ORDERED: Final = {
    "AnyValue": "first",
    "CollectList": "array",
    "CollectSet": "array",
    "First": "first",
    "Last": "last",
    "ListAgg": "listagg",
}
_IGNORE_NULL: Final = ("CollectList", "CollectSet", "ListAgg")  # unless the call says RESPECT NULLS
_ADVICE: Final = (
    "only COUNT, SUM, AVG, MIN, MAX, MIN_BY, MAX_BY, the families of STDDEV and VARIANCE, FIRST_VALUE, LAST_VALUE, "
    "ARRAY_AGG, LISTAGG, BOOL_AND, BOOL_OR and their other names can retract rows. Use these, or read the table in a "
    "batch query"
)


@dataclass(frozen=True)
class RetractableFunction:
    """A call of an aggregate function, for ``state.aggregate``."""

    name: str
    argument: Column  # NULL for rows that do not count
    is_distinct: bool
    separator: str = ""


def needs_arrival_order(items: Sequence[Node]) -> bool:
    """Return whether functions of a result need the order of rows, which Spark's own streaming aggregate ignores."""
    return any(needs_order(call) for call in aggregate_calls(items))


def needs_order(call: Node) -> bool:
    """Return whether the result of a call depends on the order of rows."""
    function = class_name(call.aggregateFunction())
    if function in _EXTREMES:  # which of several rows with the same order is returned
        return ORDER_COLUMN not in show(call)
    return function in _ORDERED and not _has_own_order(call)


def _has_own_order(call: Node) -> bool:
    return any(class_name(child) == "SortOrder" for child in elements(call.aggregateFunction().children()))


def to_retractable(catalyst: Catalyst, call: Node, unsupported: MakeError) -> RetractableFunction:
    """Return a call of an aggregate function with an argument that is NULL for rows that do not count.

    Raises:
        UnsupportedSqlError: the function cannot retract rows.
    """
    function = call.aggregateFunction()
    name, text = class_name(function), show(call)
    arguments = catalyst.columns(elements(function.children()))
    conditions = [catalyst.column(call.filter().get())] if call.filter().isDefined() else []
    is_distinct = bool(call.isDistinct())

    def of(name: str, value: Column, *others: Column, separator: str = "") -> RetractableFunction:
        tests = [*conditions, *others]
        return RetractableFunction(name, F.when(all_of(tests), value) if tests else value, is_distinct, separator)

    if ORDER_COLUMN in text:
        raise unsupported("ROW_NUMBER() over changes, or into a table that needs the old results,", _ADVICE)
    if name == "Count" and len(arguments) > 1:  # COUNT(a, b)
        return of("count", F.struct(*arguments), *(argument.isNotNull() for argument in arguments))
    if name in ("Count", "CountIf"):
        return of("count", F.lit(1), arguments[0]) if name == "CountIf" else of("count", arguments[0])
    if name in _FUNCTIONS and not str(function.prettyName()).startswith("try_"):
        return of(_FUNCTIONS[name], arguments[0])
    if name in _EXTREMES and "map<" not in str(call.dataType().simpleString()):
        value, order = arguments
        return of(_EXTREMES[name], F.struct(order, value), order.isNotNull())
    if name in _ORDERED and not _has_own_order(call):
        separator = separator_of(function) if name == "ListAgg" else ""
        if separator is not None:
            value = arguments[0]
            is_kept = [value.isNotNull()] if ignores_null(function) else []
            call_name = _ORDERED[name]
            is_distinct |= name == "CollectSet"
            return of(call_name, F.struct(value), *is_kept, separator=separator)
    text = f"{function.prettyName()}{text[text.index('(') :]}"
    raise unsupported(
        f"the aggregate function {text} over changes, or into a table that needs the old results,", _ADVICE
    )


def ignores_null(function: Node) -> bool:
    """Return whether a function of ordered values ignores NULL."""
    text = str(function.toString())
    if class_name(function) in _IGNORE_NULL:
        return not text.endswith(" respect nulls")
    return text.endswith((" ignore nulls", ", true)"))


def separator_of(function: Node) -> str | None:
    """Return what LISTAGG writes between two values; None if that is not a constant text."""
    separator = elements(function.children())[1]
    if str(function.dataType().simpleString()) != "string" or class_name(separator) != "Literal":
        return None
    value = separator.value()
    return "" if value is None else str(value.toString())
