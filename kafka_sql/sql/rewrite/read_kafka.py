"""Create the temporary tables that calls of ``read_kafka(...)`` read. They have the options of the calls."""

from __future__ import annotations

import itertools
from typing import Final

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.options import connector as opt
from kafka_sql.sql.declarations.create import to_table
from kafka_sql.sql.declarations.inferred_columns import add_inferred_columns
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.sql.grammar.statement_nodes import Declaration
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.statement_types import CreateView
from kafka_sql.sql.recognize.token_cursor import TokenCursor
from kafka_sql.sql.rewrite.read_kafka_calls import FUNCTION, Call
from kafka_sql.table.table import Table

_FORMAT_KEYS: Final = (opt.FORMAT.key, opt.VALUE_FORMAT.key, opt.KEY_FORMAT.key)
# The columns of Databricks' function; the headers come last.
_RAW_COLUMNS: Final = """`key` BYTES, `value` BYTES, `topic` STRING NOT NULL METADATA VIRTUAL,
    `partition` INT NOT NULL METADATA VIRTUAL, `offset` BIGINT NOT NULL METADATA VIRTUAL,
    `timestamp` TIMESTAMP_LTZ(3) NOT NULL METADATA VIRTUAL, `timestamp-type` STRING NOT NULL METADATA VIRTUAL"""
_HEADERS: Final = "`headers` ARRAY<ROW<`key` STRING, `value` BYTES>> METADATA FROM 'header-list' VIRTUAL"
_RAW_OPTIONS: Final = {
    opt.KEY_FORMAT.key: "raw",
    opt.KEY_FIELDS.key: "key",
    opt.VALUE_FORMAT.key: "raw",
    opt.VALUE_FIELDS_INCLUDE.key: opt.EXCEPT_KEY,
}
_RAW_SELECT: Final = """`key`, `value`, `topic`, `partition`, `offset`, `timestamp`, CASE `timestamp-type`
    WHEN 'CreateTime' THEN 0 WHEN 'LogAppendTime' THEN 1 ELSE -1 END AS `timestampType`"""


def create_table(tables: Tables, call: Call) -> str:
    """Create the table of a call, and return its name."""
    if has_format(call):
        if call.has_headers:
            raise UnsupportedSqlError(
                f"{FUNCTION}: 'includeHeaders' is not supported with a format. Declare the table with CREATE TABLE and "
                "a column METADATA FROM 'header-list'."
            )
        declaration = add_inferred_columns(Declaration((FUNCTION,), temporary=True, options=[*call.options.items()]))
        return _create(tables, call, declaration)
    columns = f"{_RAW_COLUMNS}, {_HEADERS}" if call.has_headers else _RAW_COLUMNS
    declaration = Declaration(
        (FUNCTION,),
        temporary=True,
        columns=parse_declaration(f"CREATE TABLE t ({columns})").columns,
        options=[*{**call.options, **_RAW_OPTIONS}.items()],
    )
    return _create(tables, call, declaration)


def has_format(call: Call) -> bool:
    """Return whether the columns are those of a format, and not those of Databricks' function."""
    return any(key in call.options for key in _FORMAT_KEYS)


def select_call(call: Call, table: str) -> str:
    """Return the relation that replaces a call.

    Args:
        table: the table of the call, as a relation in SQL.
    """
    if has_format(call):
        return table
    headers = ", `headers`" if call.has_headers else ""
    return f"(SELECT {_RAW_SELECT}{headers} FROM {table})"


def check_statement(query: QueryText) -> None:
    """Check that a statement with calls does not outlive their tables.

    Raises:
        UnsupportedSqlError: it creates a permanent view or a function.
    """
    statement = classify(query.text)
    if isinstance(statement, CreateView) and not statement.temporary:
        raise UnsupportedSqlError(
            f"CREATE VIEW {'.'.join(statement.name)}: {FUNCTION}(...) is only supported in a temporary view. Use "
            "CREATE TEMPORARY VIEW, or declare the table with CREATE TABLE."
        )
    cursor = TokenCursor(iter(query.tokens))
    if cursor.take_words("CREATE"):
        cursor.take_words("OR", "REPLACE")
        cursor.take_words("TEMPORARY")
        if cursor.take_words("FUNCTION"):
            raise UnsupportedSqlError(
                f"CREATE FUNCTION: {FUNCTION}(...) is not supported in a function. Declare the table with CREATE "
                "TABLE, and use its name."
            )


def _create(tables: Tables, call: Call, declaration: Declaration) -> str:
    """Create the table of a call, unless it exists with the same columns, and return its name.

    Calls with the same arguments share a table.
    """
    names = tables.names_of_calls
    key = frozenset(call.options.items()), call.has_headers
    if key not in names:
        candidates = (f"{FUNCTION}_{number}" for number in itertools.count(len(names) + 1))
        names[key] = next(name for name in candidates if tables.find((name,)) is None)
    declaration.name = (names[key],)
    table = to_table(declaration)
    entry = tables.find(table.name)
    if entry is None or _content(entry.table) != _content(table):
        tables.create(table, replace=True)
    return names[key]


def _content(table: Table) -> tuple[object, ...]:
    return table.columns, table.options
