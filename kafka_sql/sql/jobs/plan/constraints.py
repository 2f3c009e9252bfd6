"""Enforce the lengths and NOT NULL of a sink's columns, as the settings ``table.exec.sink.*-enforcer`` ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.sql_literals import quote, string_literal
from kafka_sql.sql.dataframes import SparkSql
from kafka_sql.sql.grammar.parser import parse_type
from kafka_sql.sql.jobs import settings
from kafka_sql.table.changelog import ROW_KIND_NAME
from kafka_sql.table.table import Column

_MAX_LENGTH = 2**31 - 1  # that of STRING and BYTES


@dataclass(frozen=True)
class _Enforcer:
    """What the settings ask for; see ``enforce``."""

    lengths: str  # IGNORE, TRIM_PAD or ERROR
    drops_nulls: bool

    def expression(self, column: Column) -> str:
        """Return the SQL of a column's value, of the length that its type has."""
        name, type = quote(column.name), parse_type(column.declared)
        is_fixed = type.name in ("CHAR", "BINARY")
        length = type.sizes[0] if type.sizes else 1 if is_fixed else _MAX_LENGTH
        if self.lengths == "IGNORE" or type.name not in ("CHAR", "VARCHAR", "BINARY", "VARBINARY"):
            return name
        if length == _MAX_LENGTH:
            return name
        if self.lengths == "TRIM_PAD":
            pad = "x'00'" if type.name == "BINARY" else "' '"
            return f"rpad({name}, {length}, {pad})" if is_fixed else f"substring({name}, 1, {length})"
        before = string_literal(f"Column '{column.name}' is {type.name}({length}), but a value of length ")
        after = string_literal(f" is being written into it. '{settings.TYPE_LENGTH_ENFORCER.key}' is ERROR.")
        is_invalid = f"length({name}) {'<>' if is_fixed else '>'} {length}"
        return f"if({is_invalid}, raise_error(concat({before}, length({name}), {after})), {name})"

    def filter(self, columns: Iterable[Column]) -> str:
        """Return the SQL of a condition for the rows that are written; empty for all."""
        names = [quote(column.name) for column in columns if not column.nullable]
        return " AND ".join(f"{name} IS NOT NULL" for name in names) if self.drops_nulls else ""


def _enforcer(spark: SparkSession) -> _Enforcer | None:
    """Return what the settings ask for; None if all rows are written as they are, which is the default."""
    lengths = settings.read(spark, settings.TYPE_LENGTH_ENFORCER) or "IGNORE"
    drops_nulls = settings.read(spark, settings.NOT_NULL_ENFORCER) == "DROP"
    return _Enforcer(lengths, drops_nulls) if lengths != "IGNORE" or drops_nulls else None


def enforce(spark: SparkSession, entry: CatalogTable, rows: DataFrame) -> DataFrame:
    """Return the rows for a table, whose columns they have, and maybe a row kind. A deleted row is not dropped."""
    enforcer = _enforcer(spark)
    if enforcer is None:
        return rows
    columns = {column.name: column for column in entry.table.persisted_columns}
    values = [enforcer.expression(columns[name]) if name in columns else quote(name) for name in rows.columns]
    condition = enforcer.filter(columns.values())
    if condition and ROW_KIND_NAME in rows.columns:
        condition = f"{ROW_KIND_NAME} IN ('-U', '-D') OR ({condition})"
    kept = rows.where(condition) if condition else rows
    return kept.selectExpr(*(f"{v} AS {quote(name)}" for v, name in zip(values, rows.columns, strict=True)))


def enforce_query(
    spark: SparkSession, entry: CatalogTable, query: str, names: Sequence[str] | None, spark_sql: SparkSql
) -> str:
    """Return the query of a batch with its rows as the table takes them.

    Args:
        names: the table's columns for the query's columns, by position; None for BY NAME.
        spark_sql: Spark's own ``sql()`` with the caller's parameters.
    """
    enforcer = _enforcer(spark)
    if enforcer is None:
        return query
    names = spark_sql(query).columns if names is None else names
    by_name = {column.name.lower(): column for column in entry.table.persisted_columns}
    columns = {name: by_name[name.lower()] for name in names if name.lower() in by_name}
    values = (enforcer.expression(columns[name]) if name in columns else quote(name) for name in names)
    items = ", ".join(f"{value} AS {quote(name)}" for value, name in zip(values, names, strict=True))
    condition = enforcer.filter(columns.values())
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {items} FROM (\n{query}\n) AS query ({', '.join(map(quote, names))}){where}"
