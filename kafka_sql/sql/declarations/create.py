"""Convert a parsed CREATE TABLE to a Table, with all checks that need no catalog or cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from kafka_sql.errors import (
    ConflictingOptionsError,
    MissingOptionError,
    SchemaError,
    UnsupportedSqlError,
)
from kafka_sql.options.connector_choice import reject_other_connector
from kafka_sql.sql.declarations.computed_columns import translate_column, warn_of_nanoseconds
from kafka_sql.sql.declarations.watermark_delay import watermark_delay
from kafka_sql.sql.expressions.computed import SparkExpressions
from kafka_sql.sql.expressions.event_time import event_time_source, is_proctime
from kafka_sql.sql.expressions.typed import TypedExpression, describe_type
from kafka_sql.sql.grammar.cursor import shorten_name
from kafka_sql.sql.grammar.parser import TOO_DEEP, parse_declaration, parse_expression, parse_type
from kafka_sql.sql.grammar.statement_nodes import ColumnDeclaration, Declaration, KeyDeclaration, WatermarkDeclaration
from kafka_sql.sql.grammar.types import FlinkType, to_spark_type
from kafka_sql.sql.recognize.names import strip_catalog
from kafka_sql.suggestions import did_you_mean
from kafka_sql.table.table import Column, Table, Watermark

# Spark replaces ${env:NAME} with the value, even in quoted names: a schema of a registry could read the environment.
_VARIABLE = "${"


def parse_create(sql: str, expressions: SparkExpressions | None = None) -> Table:
    """Parse one CREATE TABLE statement into a table.

    Args:
        expressions: the session's functions, which computed columns may call.

    Raises:
        SqlSyntaxError: the statement does not parse. The message never contains option values.
        UnsupportedSqlError: a clause, function or operator that has no exact equivalent in Spark.
        SchemaError: an invalid column, or a type that Spark does not have.
        OptionError: WITH is missing, or sets a key twice.
    """
    return to_table(parse_declaration(sql), expressions)


def to_declaration(table: Table) -> Declaration:
    """Return the declaration of a table, to be merged or altered."""
    key, watermarks = table.primary_key, [table.watermark] if table.watermark is not None else []
    return Declaration(
        table.name,
        temporary=table.temporary,
        if_not_exists=table.if_not_exists,
        columns=[_to_column_declaration(column) for column in table.columns],
        keys=[KeyDeclaration(key, is_enforced=False, name=table.primary_key_name)] if key else [],
        watermarks=[WatermarkDeclaration(w.column, parse_expression(w.declared), w.declared) for w in watermarks],
        options=[*table.options.items()],
        comment=table.comment,
    )


def _to_column_declaration(column: Column) -> ColumnDeclaration:
    name, text, comment = column.name, column.declared, column.comment
    if column.expression is not None:
        return ColumnDeclaration(name, text, expression=parse_expression(text), comment=comment)
    type = replace(parse_type(text), nullable=column.nullable)
    return ColumnDeclaration(name, text, type, None, column.metadata, column.virtual, comment)


def to_table(declaration: Declaration, expressions: SparkExpressions | None = None) -> Table:
    """Validate a declaration and return its table, as ``parse_create``. LIKE and AS must have been resolved.

    Raises:
        UnsupportedSqlError, SchemaError, OptionError: see ``parse_create``.
    """
    _check_clauses(declaration)
    options = _collect_options(declaration)
    key = _primary_key_columns(declaration)
    _check_columns(declaration)
    # primary key columns are never null
    column_types = {
        c.name: replace(c.type, nullable=c.type.nullable and c.name not in key)
        for c in declaration.columns
        if c.type is not None
    }
    try:
        computed = {
            c.name: translate_column(c, column_types, options, expressions)
            for c in declaration.columns
            if c.expression is not None
        }
        watermark = _build_watermark(declaration, computed)
        columns = tuple(_build_column(c, column_types, computed) for c in declaration.columns)
    except RecursionError:
        raise UnsupportedSqlError(
            f"CREATE TABLE {'.'.join(declaration.name)}: {TOO_DEEP}.", table=".".join(declaration.name)
        ) from None
    return Table(
        name=strip_catalog(declaration.name),
        columns=columns,
        options=options,
        primary_key=key,
        watermark=watermark,
        comment=declaration.comment,
        temporary=declaration.temporary,
        if_not_exists=declaration.if_not_exists,
        primary_key_name=declaration.keys[0].name if declaration.keys else None,
    )


def _check_clauses(declaration: Declaration) -> None:
    """Reject Flink's clauses that are not supported; for the table of another connector, say so first."""
    name = ".".join(declaration.name)
    if declaration.unsupported is not None or any(key.is_enforced for key in declaration.keys):
        reject_other_connector(dict(declaration.options or ()))
    if len(strip_catalog(declaration.name)) > 2:
        raise UnsupportedSqlError(
            f"CREATE TABLE {shorten_name(name)}: expected table or database.table. Kafka tables are always "
            "in spark_catalog (Flink's default_catalog); other catalogs are not supported."
        )
    if declaration.unsupported is not None:
        raise UnsupportedSqlError(f"CREATE TABLE {name}: {_UNSUPPORTED_CLAUSES[declaration.unsupported]}", table=name)
    if declaration.like is not None or declaration.query is not None:
        clause = "LIKE" if declaration.like is not None else "AS"
        raise UnsupportedSqlError(
            f"CREATE TABLE {name}: {clause} requires a Spark session. Run the statement with spark.sql().", table=name
        )
    for key in declaration.keys:
        if key.is_enforced:
            raise UnsupportedSqlError(
                f"{_describe_key(key)}: Flink doesn't support ENFORCED mode for PRIMARY KEY constraint, because "
                "it does not own the data. Write PRIMARY KEY (...) NOT ENFORCED."
            )


_UNSUPPORTED_CLAUSES = {
    "PARTITIONED BY": "PARTITIONED BY is not supported: Kafka partitions the topic, not the table. Remove the clause.",
    "DISTRIBUTED": "DISTRIBUTED is not supported: the producer's partitioner distributes records. Remove the clause.",
    "USING CONNECTION": "the clause USING CONNECTION is not supported. Set the options in WITH (...).",
}


def _collect_options(declaration: Declaration) -> Mapping[str, str]:
    name = ".".join(declaration.name)
    if declaration.options is None:
        raise MissingOptionError(
            f"CREATE TABLE {name} has no WITH clause: table options do not contain an option key 'connector'. "
            "Add WITH ('connector' = 'kafka', ...).",
            table=name,
        )
    options: dict[str, str] = {}
    for key, value in declaration.options:
        if key in options:
            raise ConflictingOptionsError(
                f"CREATE TABLE {name}: option '{key}' is set more than once. Remove the duplicates.",
                table=name,
                option=key,
            )
        options[key] = value
    return options


def _check_columns(declaration: Declaration) -> None:
    if not declaration.columns:
        raise SchemaError(
            f"CREATE TABLE {'.'.join(declaration.name)} declares no columns.", table=".".join(declaration.name)
        )
    declared_names: dict[str, str] = {}
    for column in declaration.columns:
        if _VARIABLE in column.name or (column.expression is None and _VARIABLE in column.text):
            raise SchemaError(
                f"Column '{column.name}': the names of columns and fields must not contain '{_VARIABLE}', which starts "
                "a variable in Spark's statements.",
                column=column.name,
            )
        previous = declared_names.get(column.name.lower())
        if previous is not None:
            raise SchemaError(
                f"Column '{column.name}' is declared more than once."
                if previous == column.name
                else f"Columns '{previous}' and '{column.name}' differ only in case, which is not supported: Spark's "
                "default ignores the case of names, and every session must be able to read the table.",
                column=column.name,
            )
        declared_names[column.name.lower()] = column.name
    _check_metadata_keys(declaration.columns)


def _check_metadata_keys(columns: Iterable[ColumnDeclaration]) -> None:
    """Reject two columns of one metadata key: INSERT could write only one of them."""
    names: dict[str, str] = {}
    for column in columns:
        if column.metadata is None:
            continue
        previous = names.setdefault(column.metadata, column.name)
        if previous != column.name:
            raise SchemaError(
                f"The column `{previous}` and `{column.name}` in the table are both from the same metadata key "
                f"'{column.metadata}'. Please specify one of the columns as the metadata column and use the computed "
                "column syntax to specify the others.",
                column=column.name,
            )


def _primary_key_columns(declaration: Declaration) -> tuple[str, ...]:
    if not declaration.keys:
        return ()
    if len(declaration.keys) > 1:
        raise SchemaError(
            f"Duplicate primary key definition: {' and '.join(_describe_key(k) for k in declaration.keys)}."
        )
    key = declaration.keys[0]
    columns = {c.name: c for c in declaration.columns}
    for name in key.columns:
        if name not in columns:
            raise SchemaError(
                f"{_describe_key(key)}: column '{name}' not found.{did_you_mean(name, columns)}", column=name
            )
        if columns[name].type is None or columns[name].metadata is not None:
            raise SchemaError(
                f"{_describe_key(key)}: column '{name}' is not a physical column. A PRIMARY KEY needs "
                "physical columns.",
                column=name,
            )
        if key.columns.count(name) > 1:
            raise SchemaError(f"{_describe_key(key)}: column '{name}' is listed more than once.", column=name)
    return key.columns


def _describe_key(key: KeyDeclaration) -> str:
    return f"PRIMARY KEY ({', '.join(key.columns)})"


def _build_watermark(declaration: Declaration, computed: Mapping[str, TypedExpression]) -> Watermark | None:
    if not declaration.watermarks:
        return None
    if len(declaration.watermarks) > 1:
        names = " and ".join(f"'{w.column}'" for w in declaration.watermarks)
        raise SchemaError(f"Multiple WATERMARK definitions, for {names}. A table can have only one.")
    watermark = declaration.watermarks[0]
    column = next((c for c in declaration.columns if c.name == watermark.column), None)
    if column is None:
        suggestion = did_you_mean(watermark.column, [c.name for c in declaration.columns])
        raise SchemaError(
            f"WATERMARK FOR {watermark.column}: column '{watermark.column}' not found.{suggestion}",
            column=watermark.column,
        )
    type, source = column.type, event_time_source(exp.column(column.name))
    if column.expression is not None:
        type = computed[column.name].type
        source = event_time_source(column.expression)
    if type is None or type.name not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        raise SchemaError(
            f"WATERMARK FOR {watermark.column}: column '{watermark.column}' must be of type TIMESTAMP(p) or "
            f"TIMESTAMP_LTZ(p), but is {type.text or describe_type(type) if type is not None else 'NULL'}."
            + _event_time_advice(watermark.column, type),
            column=watermark.column,
        )
    if column.expression is not None and is_proctime(column.expression):
        raise SchemaError(
            f"WATERMARK FOR {watermark.column}: A watermark can not be defined for a processing-time attribute. "
            "Declare it for an event time, such as a column TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'.",
            column=watermark.column,
        )
    has_time_zone = type.name == "TIMESTAMP_LTZ"
    return Watermark(watermark.column, watermark_delay(watermark, type), watermark.text, has_time_zone, source)


def _event_time_advice(column: str, type: FlinkType | None) -> str:
    """Return how to compute an event time from a column of another type; empty if there is no obvious way."""
    functions = {"STRING": "TO_TIMESTAMP({})", "VARCHAR": "TO_TIMESTAMP({})", "BIGINT": "TO_TIMESTAMP_LTZ({}, 3)"}
    if type is None or type.name not in functions:
        return ""
    return (
        f" Add a computed column, such as 'event_time AS {functions[type.name].format(column)}', and declare the "
        "watermark for it."
    )


def _build_column(
    declared: ColumnDeclaration,
    column_types: Mapping[str, FlinkType],
    computed: Mapping[str, TypedExpression],
) -> Column:
    if declared.expression is not None:
        expression = computed[declared.name].sql
        return Column(declared.name, None, declared.text, comment=declared.comment, expression=expression)
    if declared.type is None:
        raise AssertionError("a column has a type or an expression")
    if declared.metadata is None:  # Kafka's timestamps have milliseconds
        warn_of_nanoseconds(declared.type, declared.name)
    return Column(
        name=declared.name,
        type=to_spark_type(declared.type, declared.name),
        declared=declared.text,
        nullable=column_types[declared.name].nullable,
        comment=declared.comment,
        metadata=declared.metadata,
        virtual=declared.virtual,
    )
