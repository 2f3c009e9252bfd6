"""Translate computed columns; those without an equivalent of Flink's expression are Spark's if the table allows it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.options.connector import COMPUTED_FALLBACK, SPARK
from kafka_sql.sql.declarations.semantic_differences import warn_of_semantic_differences
from kafka_sql.sql.expressions.computed import translate_expression
from kafka_sql.sql.expressions.spark_expressions import SparkExpressions
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.statement_nodes import ColumnDeclaration
from kafka_sql.sql.grammar.types import FlinkType
from kafka_sql.sql.recognize import lexer

_LOG = logging.getLogger("kafka_sql.sql.declarations")
_WARNING: Final = (
    "Computed column '%s' is Spark's expression, with Spark's values, as '%s' = '%s' allows. Flink's is not available: "
    "%s"
)


def translate_column(
    column: ColumnDeclaration,
    column_types: Mapping[str, FlinkType],
    options: Mapping[str, str],
    expressions: SparkExpressions | None,
) -> TypedExpression:
    """Translate a computed column.

    Args:
        column: a column with an expression.
        column_types: types of the physical and metadata columns by name.
        options: the table's options.
        expressions: what the session knows; None without a session.

    Raises:
        UnsupportedSqlError, SchemaError: see ``translate_expression``.
    """
    if column.expression is None:
        raise AssertionError("a computed column has an expression")
    try:
        translated = translate_expression(column.expression, column.name, column_types, expressions)
        warn_of_semantic_differences(column.expression, column.name, column_types, expressions)
        return translated
    except UnsupportedSqlError as e:
        if options.get(COMPUTED_FALLBACK.key, "").lower() != SPARK:
            raise
        reason = e.message.removeprefix(f"Computed column '{column.name}': ")
    sql = _to_spark_sql(column)
    try:
        type = expressions.type_of(sql, column_types) if expressions is not None else None
    except UntranslatableError as e:
        raise UnsupportedSqlError(f"Computed column '{column.name}': {reason} As Spark's expression: {e}") from e
    _warn(column.name, reason)
    return TypedExpression(f"({sql})", type)


def _to_spark_sql(column: ColumnDeclaration) -> str:
    """Return the expression as written, with its strings quoted for Spark, which has backslash escapes."""
    text, end, parts = column.text, 0, []
    for token in lexer.tokenize_flink(text):
        if token.type == lexer.STRING:
            parts += [text[end : token.start], string_constant(lexer.string_value(token.text))]
            end = token.end
        elif "${" in token.text or token.text == "$":
            raise UnsupportedSqlError(
                f"Computed column '{column.name}': '$' starts a variable in Spark's statements. Remove it."
            )
    return "".join([*parts, text[end:]])


@functools.lru_cache(maxsize=1000)
def _warn(column: str, reason: str) -> None:
    _LOG.warning(_WARNING, column, COMPUTED_FALLBACK.key, SPARK, reason)
