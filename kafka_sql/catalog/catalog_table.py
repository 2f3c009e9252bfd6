"""Represent a declared table in Spark's catalog: its names, its data source and the SQL that creates it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql.types import StructType

from kafka_sql.catalog.builtin_source import BuiltinTable, builtin_source_class
from kafka_sql.catalog.data_source import KafkaTable, make_data_source
from kafka_sql.catalog.file_store import TableName
from kafka_sql.catalog.sql_literals import qualified_name, quote, string_literal
from kafka_sql.catalog.storage_names import CHANGES_SUFFIX
from kafka_sql.definition import Definition
from kafka_sql.spark.session_catalog import SESSION_CATALOG
from kafka_sql.table.changelog import ROW_KIND, ROW_KIND_NAME, ROW_ORDER_NAME
from kafka_sql.table.table import Column, Table

OWNER: Final = "kafka_sql.owner"  # a table property: the application that created the table


@dataclass(frozen=True)
class CatalogTable:
    """A table of a session.

    For example ``CREATE TABLE orders (price INT, total AS price * 2)``: ``default.orders`` is a view that computes
    ``total``, over the data source ``default.orders__kafka``, whose provider is ``kafka.orders``. Over Spark Connect,
    the data source is in a database of the client, and ``orders`` is a temporary view. In a session whose session
    catalog is not Spark's own, every table is a view, and the view finds the data source in the catalog ``kafka_sql``.
    """

    name: TableName  # database and table
    definition: Definition  # the table with its validated options
    storage_name: TableName  # database and name of the data source in Spark's catalog
    data_source: type[KafkaTable] | type[BuiltinTable]  # the data source's class; its name is the provider's name
    source_catalog: str = SESSION_CATALOG  # the catalog through which Spark reads and writes the data source

    @property
    def table(self) -> Table:
        """The table, with its options as written."""
        return self.definition.table

    @property
    def sql_name(self) -> str:
        """The data source's qualified name in queries and INSERT."""
        return qualified_name(part for part in (self.source_catalog, *self.storage_name) if part)

    @property
    def view_name(self) -> TableName:
        """Database and name under which Spark finds the table; no database if that is a temporary view."""
        return self.name if self.storage_name[0] == self.name[0] else ("", self.name[1])

    @property
    def is_temporary_view(self) -> bool:
        """Whether Spark finds the table as a temporary view of the session."""
        return not self.view_name[0]

    @property
    def provider(self) -> str:
        """The data source's provider in Spark, ``kafka.orders``."""
        return self.data_source.name()

    @property
    def is_view(self) -> bool:
        """Whether the table's own name is a view over the data source."""
        return self.name != self.storage_name


def make_catalog_table(
    name: TableName,
    definition: Definition,
    storage_name: TableName,
    provider_name: TableName,
    source_catalog: str = SESSION_CATALOG,
) -> CatalogTable:
    """Return a table with its own data source class, whose provider is ``kafka.<provider_name>``.

    Raises:
        SchemaError: the format or Kafka's metadata does not support a column.
    """
    # with the database: tables of the same name in two databases are two providers
    database, table = provider_name
    provider = ".".join(["kafka", *([] if database == "default" else [database]), table])
    make = builtin_source_class if definition.is_builtin else make_data_source
    data_source = make(provider, definition, spark_schema(definition))
    return CatalogTable(name, definition, storage_name, data_source, source_catalog)


def make_changes_table(entry: CatalogTable) -> CatalogTable:
    """Return a table with the row kind and the order of each change as its last columns, and with its own provider.

    With the column of the row kind, ``Definition.reads_content`` is false: readers return each change.
    """
    row_kind = Column(ROW_KIND_NAME, "STRING", "STRING", metadata=ROW_KIND)
    row_order = Column(ROW_ORDER_NAME, "BIGINT", "BIGINT", metadata="offset", virtual=True)
    table = replace(entry.table, columns=(*entry.table.columns, row_kind, row_order))
    definition = replace(entry.definition, table=table)
    data_source = make_data_source(changes_provider(entry), definition, spark_schema(definition))
    return replace(entry, definition=definition, data_source=data_source)


def changes_provider(entry: CatalogTable) -> str:
    """Return the provider of a table's changes."""
    return f"{entry.provider}{CHANGES_SUFFIX}"


def create_table_statement(entry: CatalogTable, owner: str) -> str:
    """Return the CREATE TABLE of the data source. It lists the columns, so that Spark need not ask a Python worker."""
    columns = ", ".join(map(_column_sql, _source_columns(entry.definition)))
    in_session_catalog = entry.source_catalog == SESSION_CATALOG
    name = quoted_name(entry.storage_name) if in_session_catalog else entry.sql_name
    return (
        f"CREATE TABLE {name} ({columns}) USING {quote(entry.provider)}"
        f"{_comment_sql(entry.table.comment)} "
        f"TBLPROPERTIES ({string_literal(OWNER)} = {string_literal(owner)})"
    )


def create_view_statement(entry: CatalogTable) -> str:
    """Return the CREATE VIEW that makes the table's name a view over its data source."""
    table = entry.table
    columns = ", ".join(quote(c.name) + _comment_sql(c.comment) for c in table.columns)
    view = f"{'TEMPORARY VIEW' if entry.is_temporary_view else 'VIEW'} {quoted_name(entry.view_name)}"
    return f"CREATE {view} ({columns}){_comment_sql(table.comment)} AS {select_statement(entry)}"


def select_statement(entry: CatalogTable, stream: bool = False) -> str:
    """Return the query of all declared columns over the data source."""
    items = ", ".join(
        quote(c.name) if c.expression is None else f"{c.expression} AS {quote(c.name)}" for c in entry.table.columns
    )
    return f"SELECT {items} FROM {'STREAM ' if stream else ''}{entry.sql_name}"


def spark_schema(definition: Definition) -> StructType:
    """Return the source columns in Spark's types. A read-only column is nullable because INSERT omits it."""
    schema = StructType.fromDDL(", ".join(map(_column_sql, _source_columns(definition))))
    assert isinstance(schema, StructType)
    return schema


def quoted_name(name: TableName) -> str:
    """Return a name in SQL; permanent tables have the catalog's name, too: another one may be current."""
    return qualified_name(part for part in (SESSION_CATALOG if name[0] else "", *name) if part)


def _source_columns(definition: Definition) -> list[Column]:
    """Return the source columns. All of them are nullable if rows may be incomplete.

    In a changelog, a deleted row may have only its key. The row of an undecodable record has no values.
    """
    shows_deletes = definition.has_changes and definition.has_row_kind_column
    may_be_incomplete = definition.is_changelog or definition.has_error_column or shows_deletes
    return [replace(c, nullable=True) if may_be_incomplete else c for c in definition.table.source_columns]


def _column_sql(column: Column) -> str:
    not_null = "" if column.nullable or column.virtual else " NOT NULL"
    return f"{quote(column.name)} {column.type}{not_null}{_comment_sql(column.comment)}"


def _comment_sql(comment: str | None) -> str:
    return f" COMMENT {string_literal(comment)}" if comment else ""
