"""Enforce the lengths and NOT NULL of a sink's columns, as the settings ``table.exec.sink.*-enforcer`` ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.sql_literals import quote, string_literal
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.dataframes import SparkSql
from kafka_sql.sql.grammar.parser import parse_type
from kafka_sql.sql.grammar.types import FlinkType, to_flink_type
from kafka_sql.sql.jobs import settings
from kafka_sql.table.changelog import ROW_KIND_NAME
from kafka_sql.table.table import Column

_LENGTH_KEY = settings.TYPE_LENGTH_ENFORCER.key
_MAX_LENGTH = 2**31 - 1  # that of STRING and BYTES


@dataclass(frozen=True)
class _Enforcer:
    """What the settings ask for; see ``enforce``."""

    lengths: str  # IGNORE, TRIM_PAD or ERROR
    drops_nulls: bool
    nested: str  # IGNORE, ROWS or ROWS_AND_COLLECTIONS: the parts of a value that are checked, too

    def expression(self, column: Column) -> str:
        """Return the SQL of a column's value, of the length that its type has.

        Raises:
            UnsupportedSqlError: values in a collection cannot be cut.
        """
        name, type = quote(column.name), parse_type(column.declared)
        value = name
        if self.lengths == "TRIM_PAD":
            value = self._fit(name, type, column.name)
        elif self.lengths == "ERROR" and (invalid := self._has_other_length(name, type)):
            before = string_literal(f"Column '{column.name}' is {to_flink_type(type)}, but a value of ")
            length = f"'length ', length({name})" if _length(type) is not None else "'another length'"
            after = string_literal(f" is being written into it. '{_LENGTH_KEY}' is ERROR.")
            value = f"if({invalid}, raise_error(concat({before}, {length}, {after})), {name})"
        if not self.drops_nulls and (invalid := self._has_null(name, type)):
            text = f"Column '{column.name}' is {to_flink_type(type)}, but NULL is being written into a part that is "
            text += f"NOT NULL. SET '{settings.NOT_NULL_ENFORCER.key}' = 'DROP' skips such rows."
            value = f"if({invalid}, raise_error({string_literal(text)}), {value})"
        return value

    def filter(self, columns: Iterable[Column]) -> str:
        """Return the SQL of a condition for the rows that are written; empty for all."""
        if not self.drops_nulls:
            return ""
        conditions = []
        for column in columns:
            name = quote(column.name)
            if not column.nullable:
                conditions.append(f"{name} IS NOT NULL")
            if has_null := self._has_null(name, parse_type(column.declared)):
                conditions.append(f"NOT coalesce({has_null}, false)")
        return " AND ".join(conditions)

    def _fit(self, value: str, type: FlinkType, column: str) -> str:
        """Return the SQL of a value that is cut, or padded."""
        length = _length(type)
        if length is not None:
            pad = "x'00'" if type.name == "BINARY" else "' '"
            is_fixed = type.name in ("CHAR", "BINARY")
            return f"rpad({value}, {length}, {pad})" if is_fixed else f"substring({value}, 1, {length})"
        if type.name == "ROW" and self.nested != "IGNORE":
            names = [quote(field.name) for field in type.fields]
            fields = [self._fit(f"{value}.{n}", f.type, column) for n, f in zip(names, type.fields, strict=True)]
            if fields == [f"{value}.{name}" for name in names]:
                return value
            pairs = (f"{string_literal(f.name)}, {field}" for f, field in zip(type.fields, fields, strict=True))
            row = f"named_struct({', '.join(pairs)})"
            return f"if({value} IS NULL, NULL, {row})" if type.nullable else row
        if type.elements and self.nested == "ROWS_AND_COLLECTIONS" and self._has_other_length(value, type):
            raise UnsupportedSqlError(
                f"Column '{column}': '{_LENGTH_KEY}' = 'TRIM_PAD' does not apply to values in "
                f"collections. SET '{settings.NESTED_CONSTRAINT_ENFORCER.key}' = 'ROWS', or '{_LENGTH_KEY}' = 'ERROR'."
            )
        return value

    def _has_other_length(self, value: str, type: FlinkType) -> str:
        """Return the SQL of whether a value has another length than its type; empty if its type has none."""
        if (length := _length(type)) is not None:
            return f"length({value}) {'<>' if type.name in ('CHAR', 'BINARY') else '>'} {length}"
        return " OR ".join(self._parts(value, type, self._has_other_length))

    def _has_null(self, value: str, type: FlinkType) -> str:
        """Return the SQL of whether a part of a value is NULL although it is NOT NULL; empty if all parts can be."""

        def is_null(value: str, type: FlinkType) -> str:
            conditions = ([] if type.nullable else [f"{value} IS NULL"]) + [self._has_null(value, type)]
            return " OR ".join(filter(None, conditions))

        return " OR ".join(self._parts(value, type, is_null))

    def _parts(self, value: str, type: FlinkType, condition: Callable[[str, FlinkType], str]) -> list[str]:
        """Return the conditions of the fields and elements of a value that are checked."""
        if type.name == "ROW" and self.nested != "IGNORE":
            found = [c for f in type.fields if (c := condition(f"{value}.{quote(f.name)}", f.type))]
            return [f"{value} IS NOT NULL AND ({' OR '.join(found)})"] if found and type.nullable else found
        if not type.elements or self.nested != "ROWS_AND_COLLECTIONS":
            return []
        lists = [value] if type.name == "ARRAY" else [f"map_keys({value})", f"map_values({value})"]
        checks = ((items, condition("x", e)) for items, e in zip(lists, type.elements, strict=False))
        return [f"exists({items}, x -> {c})" for items, c in checks if c]


def _length(type: FlinkType) -> int | None:
    """Return the length of a type; None if it has none."""
    if type.name not in ("CHAR", "VARCHAR", "BINARY", "VARBINARY"):
        return None
    length = type.sizes[0] if type.sizes else 1 if type.name in ("CHAR", "BINARY") else _MAX_LENGTH
    return None if length == _MAX_LENGTH else length


def _enforcer(spark: SparkSession) -> _Enforcer | None:
    """Return what the settings ask for; None if all rows are written as they are, which is the default."""
    lengths = settings.read(spark, settings.TYPE_LENGTH_ENFORCER) or "IGNORE"
    drops_nulls = settings.read(spark, settings.NOT_NULL_ENFORCER) == "DROP"
    nested = settings.read(spark, settings.NESTED_CONSTRAINT_ENFORCER) or "IGNORE"
    is_needed = lengths != "IGNORE" or drops_nulls or nested != "IGNORE"
    return _Enforcer(lengths, drops_nulls, nested) if is_needed else None


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
