"""Translate computed columns, and warn of what has another meaning in Spark's queries or is less precise.

Those without an equivalent of Flink's expression are Spark's expressions if the table allows it.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Final

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from kafka_sql.catalog.source_catalog import add_source_catalog, uses_functions
from kafka_sql.catalog.sql_literals import like_pattern, qualified_name, quote, string_constant, string_literal
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.options.connector import COMPUTED_FALLBACK, SPARK
from kafka_sql.sql.declarations.added_columns import columns_from_schema
from kafka_sql.sql.expressions.computed import SparkExpressions, translate_expression
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.statement_nodes import ColumnDeclaration
from kafka_sql.sql.grammar.types import INTEGERS, SPARK_PRECISION, FlinkType, to_spark_type
from kafka_sql.sql.recognize import lexer

_LOG = logging.getLogger("kafka_sql.sql.declarations")
_FALLBACK: Final = (
    "Computed column '%s' is Spark's expression, with Spark's values, as '%s' = '%s' allows. Flink's is not available: "
    "%s"
)
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


def translate_column(
    column: ColumnDeclaration,
    column_types: Mapping[str, FlinkType],
    options: Mapping[str, str],
    expressions: SparkExpressions | None,
) -> TypedExpression:
    """Translate a computed column.

    Args:
        column_types: types of the physical and metadata columns by name.

    Raises:
        UnsupportedSqlError, SchemaError: see ``translate_expression``.
    """
    if column.expression is None:
        raise AssertionError("a computed column has an expression")
    try:
        translated = translate_expression(column.expression, column.name, column_types, expressions)
        _warn_of_semantic_differences(column.expression, column.name, column_types, expressions)
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
    _warn(_FALLBACK, column.name, COMPUTED_FALLBACK.key, SPARK, reason)
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


def warn_of_nanoseconds(type: FlinkType, column: str) -> None:
    """Log a warning for each TIMESTAMP(7) to TIMESTAMP(9), even inside other types, once per column name."""
    if type.name in ("TIMESTAMP", "TIMESTAMP_LTZ") and type.precision > SPARK_PRECISION:
        _warn(_NANOSECONDS, column, type.text or f"{type.name}({type.precision})")
    for element in type.elements:
        warn_of_nanoseconds(element, column)
    for field in type.fields:
        warn_of_nanoseconds(field.type, f"{column}.{field.name}")


def _warn_of_semantic_differences(
    node: exp.Expr, column: str, column_types: Mapping[str, FlinkType], expressions: SparkExpressions | None
) -> None:
    """Warn once per column name of each expression that has another meaning in Spark's queries."""
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


def session_expressions(spark: SparkSession, spark_sql: Callable[[str], DataFrame]) -> SparkExpressions:
    """Return the functions and types of a session, by its own ``sql()``, without this package."""

    def find_function(name: str) -> str | None:
        rows = spark_sql(f"SHOW USER FUNCTIONS LIKE {string_literal(like_pattern(name.lower()))}").collect()
        names = [str(row[0]) for row in rows]
        found = [n for n in names if n.rpartition(".")[2].lower() == name.lower()]
        return qualified_name(min(found, key=len).split(".")) if found else None  # a temporary one hides others

    def type_of(sql: str, column_types: Mapping[str, FlinkType]) -> FlinkType:
        if uses_functions(sql):
            add_source_catalog(spark, spark_sql)
        columns = ", ".join(
            f"CAST(NULL AS {to_spark_type(type, name)}) AS {quote(name)}" for name, type in column_types.items()
        )
        try:
            schema = spark_sql(f"SELECT {sql} AS c FROM (SELECT {columns})").schema
        except (AnalysisException, ParseException) as e:
            raise UntranslatableError(f"Spark cannot evaluate {sql}: {str(e).partition(chr(10))[0]}") from e
        type = columns_from_schema(schema, "The expression")[0].type
        if type is None:
            raise AssertionError("a column of a query has a type")
        return type

    return SparkExpressions(find_function, type_of)
