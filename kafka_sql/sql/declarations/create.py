"""CREATE TABLE in Flink's words to a Table, checked as far as the statement alone can tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import TokenError

from kafka_sql.errors import (
    ConflictingOptionsError,
    MissingOptionError,
    SchemaError,
    SqlSyntaxError,
    UnsupportedSqlError,
    did_you_mean,
)
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.expressions.computed import translate_expression
from kafka_sql.sql.expressions.interval import interval, total
from kafka_sql.sql.expressions.typed import describe
from kafka_sql.sql.grammar.declaration import ColumnDeclaration, Declaration, KeyDeclaration, WatermarkDeclaration
from kafka_sql.sql.grammar.dialect import parse_declaration
from kafka_sql.sql.grammar.type_parser import FlinkParseError, shorten_name
from kafka_sql.sql.grammar.types import FlinkType, to_spark_type
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.names import strip_catalog
from kafka_sql.sql.recognize.syntax_error import syntax_error, unclosed_quote_error
from kafka_sql.table.declaration import Column, Table, Watermark

T = TypeVar("T")


_DEEPEST = "brackets, operators or types are nested too deeply"


def parse_create(sql: str) -> Table:
    """The table that one CREATE TABLE statement declares.

    Raises:
        SqlSyntaxError: the statement does not parse; values of options are never shown.
        UnsupportedSqlError: a clause, function or operator that is understood and has no exact meaning here.
        SchemaError: a column that is declared wrongly, or of a type that Spark cannot carry.
        OptionError: WITH is missing, or has a key twice.
    """
    return to_table(parse_statement(sql, parse_declaration))


def to_declaration(table: Table) -> Declaration:
    """The declaration behind a table, to be merged or altered."""
    return parse_declaration(render_create_table(table))


def to_table(declaration: Declaration) -> Table:
    """The table that a declaration without LIKE and AS, or with both carried out, declares.

    Raises:
        UnsupportedSqlError, SchemaError, OptionError: as ``parse_create``.
    """
    _refuse_clauses(declaration)
    options = _options(declaration)
    key = _primary_key(declaration)
    _check_names(declaration)
    # a column of the primary key holds no nulls
    scope = {
        c.name: replace(c.type, nullable=c.type.nullable and c.name not in key)
        for c in declaration.columns
        if c.type is not None
    }
    try:
        watermark = _watermark(declaration, scope)
        columns = tuple(_column(c, scope, watermark) for c in declaration.columns)
    except RecursionError:
        raise UnsupportedSqlError(f"CREATE TABLE {'.'.join(declaration.name)}: {_DEEPEST}.") from None
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


def parse_statement(sql: str, parse: Callable[[str], T]) -> T:
    """A statement as it was typed.

    Raises:
        SqlSyntaxError: it does not parse.
    """
    try:
        return parse(sql)
    except FlinkParseError as e:
        raise syntax_error(sql, e.start, e.end, str(e)) from e
    except TokenError:
        # Not chained: sqlglot's message quotes the statement around the place, secrets and all.
        raise _unclosed(sql) from None
    except RecursionError:
        raise SqlSyntaxError(f"The statement's {_DEEPEST}.") from None


def _unclosed(sql: str) -> SqlSyntaxError:
    open_quotes = [x for x in lexer.tokenize_flink(sql) if x.type == lexer.SYMBOL and x.text in "'`"]
    start = open_quotes[0].start if open_quotes else len(sql)
    return unclosed_quote_error(sql, start)


def _refuse_clauses(declaration: Declaration) -> None:
    """What Flink has and is not carried out here, in one place."""
    name = ".".join(declaration.name)
    if len(strip_catalog(declaration.name)) > 2:
        raise UnsupportedSqlError(
            f"CREATE TABLE {shorten_name(name)}: expected table or database.table. Kafka tables are always "
            "in spark_catalog (Flink's default_catalog); other catalogs are not supported."
        )
    if declaration.unsupported is not None:
        raise UnsupportedSqlError(f"CREATE TABLE {name}: {_CLAUSES[declaration.unsupported]}")
    if declaration.replace and declaration.query is None:
        raise UnsupportedSqlError(
            f"CREATE OR REPLACE TABLE {name} is supported with AS and a query only. To change a table use ALTER TABLE; "
            "to declare it anew, DROP TABLE and CREATE TABLE."
        )
    if declaration.like is not None or declaration.query is not None:
        clause = "LIKE" if declaration.like is not None else "AS"
        raise UnsupportedSqlError(f"CREATE TABLE {name}: {clause} needs a session; run it with spark.sql().")
    for key in declaration.keys:
        if key.is_enforced:
            raise UnsupportedSqlError(
                f"{_shown(key)}: Flink doesn't support ENFORCED mode for PRIMARY KEY constraint, as it does not own "
                "the data. Write PRIMARY KEY (...) NOT ENFORCED."
            )


_CLAUSES = {
    "PARTITIONED BY": "it is a partitioned table, but the underlying DynamicTableSink doesn't implement the "
    "SupportsPartitioning interface: a topic's partitions are Kafka's own. Remove PARTITIONED BY.",
    "DISTRIBUTED": "it is distributed into buckets, but the underlying DynamicTableSink doesn't implement the "
    "SupportsBucketing interface: the producer's partitioner spreads records. Remove DISTRIBUTED.",
    "USING CONNECTION": "the clause USING CONNECTION is not supported. Give the options in WITH (...).",
}


def _options(declaration: Declaration) -> Mapping[str, str]:
    name = ".".join(declaration.name)
    if declaration.options is None:
        raise MissingOptionError(
            f"CREATE TABLE {name} has no WITH clause: table options do not contain an option key 'connector'. "
            "Add WITH ('connector' = 'kafka', ...)."
        )
    options: dict[str, str] = {}
    for key, value in declaration.options:
        if key in options:
            raise ConflictingOptionsError(f"CREATE TABLE {name}: option '{key}' is given more than once. Keep one.")
        options[key] = value
    return options


def _check_names(declaration: Declaration) -> None:
    if not declaration.columns:
        raise SchemaError(f"CREATE TABLE {'.'.join(declaration.name)} declares no columns.")
    seen: dict[str, str] = {}
    for column in declaration.columns:
        other = seen.get(column.name.lower())
        if other is not None:
            raise SchemaError(
                f"Column '{column.name}' is declared more than once."
                if other == column.name
                else f"Columns '{other}' and '{column.name}' differ only in case, which Spark does not tell apart."
            )
        seen[column.name.lower()] = column.name


def _primary_key(declaration: Declaration) -> tuple[str, ...]:
    if not declaration.keys:
        return ()
    if len(declaration.keys) > 1:
        raise SchemaError(f"Duplicate primary key definition: {' and '.join(_shown(k) for k in declaration.keys)}.")
    key = declaration.keys[0]
    columns = {c.name: c for c in declaration.columns}
    for name in key.columns:
        if name not in columns:
            raise SchemaError(f"{_shown(key)}: there is no column '{name}'.{did_you_mean(name, columns)}")
        if columns[name].type is None or columns[name].metadata is not None:
            raise SchemaError(f"{_shown(key)}: column '{name}' is no physical column, as a primary key requires.")
        if key.columns.count(name) > 1:
            raise SchemaError(f"{_shown(key)}: column '{name}' is named more than once.")
    return key.columns


def _shown(key: KeyDeclaration) -> str:
    return f"PRIMARY KEY ({', '.join(key.columns)})"


def _watermark(declaration: Declaration, scope: Mapping[str, FlinkType]) -> Watermark | None:
    if not declaration.watermarks:
        return None
    if len(declaration.watermarks) > 1:
        names = " and ".join(f"'{w.column}'" for w in declaration.watermarks)
        raise SchemaError(f"Multiple WATERMARK definitions, for {names}. A table has one.")
    mark = declaration.watermarks[0]
    column = next((c for c in declaration.columns if c.name == mark.column), None)
    if column is None:
        near = did_you_mean(mark.column, [c.name for c in declaration.columns])
        raise SchemaError(f"WATERMARK FOR {mark.column}: there is no column '{mark.column}'.{near}")
    type = column.type
    if column.expression is not None:
        type = translate_expression(column.expression, column.name, scope).type
    if type is None or type.name not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        raise SchemaError(
            f"WATERMARK FOR {mark.column}: column '{mark.column}' must be of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), "
            f"and is {type.text or describe(type) if type is not None else 'NULL'}."
        )
    return Watermark(mark.column, _delay(mark), mark.text)


def _delay(mark: WatermarkDeclaration) -> str:
    this, what = mark.expression, f"WATERMARK FOR {mark.column}"
    if _is_column(this, mark.column):
        return "'0' SECOND"
    delays = []
    while isinstance(this, exp.Sub) and isinstance(this.right, exp.Interval):
        delays.append(interval(this.right, what))
        this = this.left
    if delays and _is_column(this, mark.column):
        delay = delays[0] if len(delays) == 1 else total(delays)
        if delay.microseconds < 0:
            raise UnsupportedSqlError(f"{what}: the delay INTERVAL {delay.sql} is negative.")
        return delay.sql
    raise UnsupportedSqlError(
        f"{what} AS {mark.text}: Spark takes the column less a fixed delay only. "
        f"Write {mark.column} - INTERVAL '5' SECOND, or just {mark.column}."
    )


def _is_column(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and node.name == name


def _column(declared: ColumnDeclaration, scope: Mapping[str, FlinkType], watermark: Watermark | None) -> Column:
    marked = watermark is not None and watermark.column == declared.name
    if declared.expression is not None:
        sql = translate_expression(declared.expression, declared.name, scope).sql
        expression = f"CAST({sql} AS TIMESTAMP)" if marked else sql
        return Column(declared.name, None, declared.text, comment=declared.comment, expression=expression)
    if declared.type is None:
        raise AssertionError("a column has a type or an expression")
    type = to_spark_type(declared.type, declared.name)
    return Column(
        name=declared.name,
        type="TIMESTAMP" if marked else type,  # Spark refuses watermarks on TIMESTAMP_NTZ
        declared=declared.text,
        nullable=scope[declared.name].nullable,
        comment=declared.comment,
        metadata=declared.metadata,
        virtual=declared.virtual,
    )
