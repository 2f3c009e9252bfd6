"""Fit the rows of a query to a Kafka table: its columns, their types, and 'sink.parallelism'."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    DataType,
    DateType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from kafka_sql.catalog.catalog_table import CatalogTable, spark_schema
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.options import connector as opt
from kafka_sql.spark.context import spark_version
from kafka_sql.spark.session_settings import changed_settings
from kafka_sql.sql.dataframes import SparkSql
from kafka_sql.sql.recognize.statement_types import Insert
from kafka_sql.table.changelog import ROW_KIND_NAME
from kafka_sql.table.table import Column

_ANSI = "spark.sql.ansi.enabled"
_DATETIME_TYPES = (DateType, TimestampType, TimestampNTZType)


def target_columns(entry: CatalogTable, statement: Insert) -> list[Column]:
    """Return the table's columns for the query's columns, by position.

    Raises:
        StatementError: the column list has a column that does not exist or is read-only.
    """
    if statement.columns is None:
        return list(entry.table.persisted_columns)
    writable = {c.name.lower(): c for c in entry.table.persisted_columns}
    for name in statement.columns:
        if name.lower() not in writable:
            raise _not_writable_error(entry, name)
    return [writable[name.lower()] for name in statement.columns]


def _not_writable_error(entry: CatalogTable, column: str) -> StatementError:
    columns = ", ".join(c.name for c in entry.table.persisted_columns)
    return StatementError(
        f"Table '{entry.definition.name}' has no writable column '{column}'. Writable columns: {columns} (computed "
        "columns and METADATA VIRTUAL columns are read-only).",
        table=entry.definition.name,
    )


def project_to_table(entry: CatalogTable, query: DataFrame, statement: Insert) -> DataFrame:
    """Return the query's rows with the table's column names and types; missing columns are NULL.

    A value that its column's type cannot have is an error, as in a batch INSERT, whatever 'spark.sql.ansi.enabled' is.

    Raises:
        StatementError: the number of columns differs from the table or the column list, or a type cannot be assigned.
    """
    rows = _rename_by_name(entry, query) if statement.by_name else _rename_by_position(entry, query, statement)
    _check_types(entry, rows)
    # the casts are those of an ANSI session when Spark analyzes them; over Spark Connect, that is later
    with changed_settings(query.sparkSession, {_ANSI: "true"}):
        return rows.select(
            *(
                (rows[quote(c.name)] if c.name in rows.columns else F.lit(None)).cast(c.type or "").alias(c.name)
                for c in entry.table.persisted_columns
            )
        )


def _check_types(entry: CatalogTable, rows: DataFrame) -> None:
    """Check the types as in a batch INSERT: Spark does not check those of a stream."""
    types = {f.name: f.dataType for f in spark_schema(entry.definition)}
    for column in rows.schema:
        target = types[column.name]
        if not can_assign(column.dataType, target):
            raise StatementError(
                f"INSERT INTO '{entry.definition.name}': column '{column.name}' is {target.simpleString()}, "
                f"but the query returns {column.dataType.simpleString()}. CAST it in the query.",
                table=entry.definition.name,
            )


def _rename_by_name(entry: CatalogTable, query: DataFrame) -> DataFrame:
    writable = {c.name.lower(): c.name for c in entry.table.persisted_columns}
    for name in query.columns:
        if name.lower() not in writable:
            raise _not_writable_error(entry, name)
    return query.toDF(*(writable[c.lower()] for c in query.columns))


def _rename_by_position(entry: CatalogTable, query: DataFrame, statement: Insert) -> DataFrame:
    columns = target_columns(entry, statement)
    if len(columns) != len(query.columns):
        raise StatementError(
            f"INSERT INTO '{entry.definition.name}': the query has {len(query.columns)} columns "
            f"({', '.join(query.columns)}), the table takes {len(columns)} ({', '.join(c.name for c in columns)}).",
            table=entry.definition.name,
        )
    return query.toDF(*(c.name for c in columns))


def can_assign(source: DataType, target: DataType) -> bool:
    """Return whether Spark's ANSI store assignment allows ``source`` in a column of type ``target``."""
    if isinstance(source, NullType) or source.simpleString() == target.simpleString():
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return can_assign(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return can_assign(source.keyType, target.keyType) and can_assign(source.valueType, target.valueType)
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = zip(source, target, strict=False)
        return len(source) == len(target) and all(can_assign(a.dataType, b.dataType) for a, b in pairs)
    if isinstance(target, StringType):
        return isinstance(source, AtomicType)
    if isinstance(source, TimeType) and isinstance(target, TimeType):
        return source.precision <= target.precision
    return any(isinstance(source, types) and isinstance(target, types) for types in (NumericType, _DATETIME_TYPES))


def repartition(entry: CatalogTable, rows: DataFrame) -> DataFrame:
    """Repartition rows, which have the table's column names; without 'sink.parallelism', return them unchanged.

    Raises:
        UnsupportedSqlError: nothing identifies the rows, so that changes of a row would lose their order.
    """
    tasks = entry.definition.options.get(opt.SINK_PARALLELISM)
    if tasks is None:
        return rows
    key = _key_columns(entry, rows.columns) or list(entry.table.primary_key)
    if not key and ROW_KIND_NAME in rows.columns:
        name = entry.definition.name
        raise UnsupportedSqlError(
            f"INSERT INTO '{name}': '{opt.SINK_PARALLELISM.key}' is set, and the changelog mode contains row kinds "
            "other than INSERT, so a primary key is required, but the table has none. Declare a PRIMARY KEY in it, "
            f"or remove '{opt.SINK_PARALLELISM.key}'.",
            table=name,
        )
    return rows.repartition(tasks, *map(quote, key))


def repartition_query(entry: CatalogTable, query: str, names: Sequence[str] | None) -> str:
    """Repartition the rows of a query given as text; without 'sink.parallelism', return it unchanged.

    Args:
        names: the table's columns for the query's columns, by position; None for BY NAME.
    """
    tasks = entry.definition.options.get(opt.SINK_PARALLELISM)
    if tasks is None:
        return query
    # BY NAME: if the query lacks a key column, Spark reports it
    key = _key_columns(entry, names if names is not None else [c.name for c in entry.table.persisted_columns])
    hint = ", ".join([str(tasks), *map(quote, key)])
    alias = f" AS query ({', '.join(map(quote, names))})" if names is not None else ""
    return f"SELECT /*+ REPARTITION({hint}) */ * FROM (\n{query}\n){alias}"


def name_fields(spark: SparkSession, entry: CatalogTable, query: str, names: Sequence[str], spark_sql: SparkSql) -> str:
    """Rename the fields of rows in arrays and maps of a query given as text to those of the table, by position.

    Spark does so since 4.3. Before, an INSERT finds these fields by name, unlike all others.

    Args:
        names: the table's columns for the query's columns, by position.
    """
    types = {f.name: f.dataType for f in spark_schema(entry.definition)}
    has_rows_in_collections = any("<struct<" in t or ",struct<" in t for t in (types[n].simpleString() for n in names))
    if not has_rows_in_collections or spark_version(spark) >= (4, 3):
        return query
    rows = spark_sql(query)
    if len(rows.columns) != len(names):
        return query  # Spark reports it
    columns = []
    for field, name in zip(rows.schema, names, strict=True):
        source, target = field.dataType, types[name]
        named = _type_with_names(source, target) if can_assign(source, target) else ""
        is_named = named in ("", _type_with_names(source, source))
        columns.append(quote(name) if is_named else f"CAST({quote(name)} AS {named}) AS {quote(name)}")
    return f"SELECT {', '.join(columns)} FROM (\n{query}\n) AS query ({', '.join(map(quote, names))})"


def _type_with_names(source: DataType, target: DataType) -> str:
    """Return a type in SQL with the names of the fields of another one, of the same shape."""
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return f"ARRAY<{_type_with_names(source.elementType, target.elementType)}>"
    if isinstance(source, MapType) and isinstance(target, MapType):
        key, value = (source.keyType, target.keyType), (source.valueType, target.valueType)
        return f"MAP<{_type_with_names(*key)}, {_type_with_names(*value)}>"
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = zip(source, target, strict=True)
        fields = (
            f"{quote(b.name)}: {_type_with_names(a.dataType, b.dataType)}{'' if a.nullable else ' NOT NULL'}"
            for a, b in pairs
        )
        return f"STRUCT<{', '.join(fields)}>"
    return source.simpleString()


def _key_columns(entry: CatalogTable, columns: Sequence[str]) -> list[str]:
    key = entry.definition.key
    return [name for name in (key.columns if key is not None else ()) if name in columns]
