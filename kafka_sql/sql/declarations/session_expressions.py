"""Ask the Spark session for functions and types of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.source_catalog import add_source_catalog, uses_functions
from kafka_sql.catalog.sql_literals import like_pattern, qualified_name, quote, string_literal
from kafka_sql.sql.declarations.query_columns import columns_from_schema
from kafka_sql.sql.expressions.spark_expressions import SparkExpressions
from kafka_sql.sql.expressions.typed import UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType, to_spark_type


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
