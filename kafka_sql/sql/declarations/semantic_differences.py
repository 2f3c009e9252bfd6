"""Warn of expressions in a declaration that have another meaning in Spark's queries, and of types that Spark lacks."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from kafka_sql.sql.expressions.computed import translate_expression
from kafka_sql.sql.expressions.spark_expressions import SparkExpressions
from kafka_sql.sql.grammar.types import INTEGERS, SPARK_PRECISION, FlinkType

_LOG = logging.getLogger("kafka_sql.sql.declarations")

_INTEGER_DIVISION: Final = (
    "Computed column '%s': '/' divides integers as in Flink, so 5 / 2 is 2. In a query, '/' is Spark's, and 5 / 2 is "
    "2.5; write 'div' there."
)
_ARRAY_ELEMENT: Final = (
    "Computed column '%s': arrays start at 1 as in Flink, so a[1] is the first element. In a query, a[1] is Spark's, "
    "and the second element; write element_at(a, 1) there."
)
_NANOSECONDS: Final = (
    "Column '%s': %s has microseconds, because Spark has no nanoseconds. Digits after the sixth are dropped when a "
    "value is read, and are zeros when it is written."
)


def warn_of_nanoseconds(type: FlinkType, column: str) -> None:
    """Log a warning for each TIMESTAMP(7) to TIMESTAMP(9), even inside other types, once per column name."""
    if type.name in ("TIMESTAMP", "TIMESTAMP_LTZ") and type.precision > SPARK_PRECISION:
        _warn(_NANOSECONDS, column, type.text or f"{type.name}({type.precision})")
    for element in type.elements:
        warn_of_nanoseconds(element, column)
    for field in type.fields:
        warn_of_nanoseconds(field.type, f"{column}.{field.name}")


def warn_of_semantic_differences(
    node: exp.Expr, column: str, column_types: Mapping[str, FlinkType], expressions: SparkExpressions | None
) -> None:
    """Log a warning for each expression that has another meaning in Spark's queries, once per column name.

    Args:
        node: the expression of a computed column, which can be translated.
    """
    for part in node.walk():
        if isinstance(part, exp.Div):
            types = [
                translate_expression(side, column, column_types, expressions).type for side in (part.left, part.right)
            ]
            if all(type is not None and type.name in INTEGERS for type in types):
                _warn(_INTEGER_DIVISION, column)
        elif isinstance(part, exp.Bracket):
            type = translate_expression(part.this, column, column_types, expressions).type
            if type is not None and type.name == "ARRAY":
                _warn(_ARRAY_ELEMENT, column)


@functools.lru_cache(maxsize=1000)
def _warn(message: str, *values: str) -> None:
    _LOG.warning(message, *values)
