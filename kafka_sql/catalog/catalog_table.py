"""A declared table as it stands in Spark: the names behind it, and its SQL."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as with_fields
from typing import Final

from pyspark.sql.types import StructType

from kafka_sql.catalog.data_source import KafkaTable, make_data_source
from kafka_sql.catalog.sql_literals import qualified_name, quote, string_literal
from kafka_sql.definition import Definition
from kafka_sql.table.declaration import Column, Table

OWNER: Final = "kafka_sql.owner"  # a table property: the application that created the table

TableName = tuple[str, str]  # database, table, in lower case; the database is empty for a temporary table


@dataclass(frozen=True)
class CatalogTable:
    """A table of a session.

    Attributes:
        name: where it stands.
        definition: what was declared, checked.
        place: the database and name under which Spark's catalog holds the data source itself.
        kind: the data source's class, whose name is the format's name.
    """

    name: TableName
    definition: Definition
    storage_name: TableName
    data_source: type[KafkaTable]

    @property
    def table(self) -> Table:
        """The declaration."""
        return self.definition.table

    @property
    def sql_name(self) -> str:
        """The data source's name in SQL."""
        return quoted_name(self.storage_name)

    @property
    def provider(self) -> str:
        """The data source's format name."""
        return self.data_source.name()

    @property
    def is_view(self) -> bool:
        """Whether the table's own name is a view over the data source."""
        return self.name != self.storage_name


def make_catalog_table(name: TableName, definition: Definition, place: TableName, known_as: TableName) -> CatalogTable:
    """An entry with its own data source class, whose format is called ``kafka.<known_as>``.

    Raises:
        SchemaError: a column that the format or Kafka's metadata cannot carry.
    """
    # two tables of one name in two databases are two providers
    format_name = ".".join(["kafka", *([] if known_as[0] == "default" else [known_as[0]]), known_as[1]])
    return CatalogTable(name, definition, place, make_data_source(format_name, definition, spark_schema(definition)))


def create_table_statement(entry: CatalogTable, owner: str) -> str:
    """The statement that makes the data source a table of Spark's. With its columns: Spark asks no worker then."""
    columns = ", ".join(map(_column, _stored(entry.definition)))
    return (
        f"CREATE TABLE {entry.sql_name} ({columns}) USING {quote(entry.provider)}{_comment(entry.table.comment)} "
        f"TBLPROPERTIES ({string_literal(OWNER)} = {string_literal(owner)})"
    )


def create_view_statement(entry: CatalogTable) -> str:
    """The statement that makes the table's own name a view over its data source."""
    table = entry.table
    columns = ", ".join(quote(c.name) + _comment(c.comment) for c in table.columns)
    kind = "TEMPORARY VIEW" if table.temporary else "VIEW"
    return f"CREATE {kind} {quoted_name(entry.name)} ({columns}){_comment(table.comment)} AS {select_statement(entry)}"


def select_statement(entry: CatalogTable, stream: bool = False) -> str:
    """The table as declared, over its data source."""
    items = ", ".join(
        quote(c.name) if c.expression is None else f"{c.expression} AS {quote(c.name)}" for c in entry.table.columns
    )
    return f"SELECT {items} FROM {'STREAM ' if stream else ''}{entry.sql_name}"


def spark_schema(definition: Definition) -> StructType:
    """The stored columns in Spark's types. A read-only column is nullable, as an INSERT leaves it out."""
    schema = StructType.fromDDL(", ".join(map(_column, _stored(definition))))
    assert isinstance(schema, StructType)
    return schema


def quoted_name(name: TableName) -> str:
    """A name in SQL; of a lasting table with Spark's own catalog, as another one may be the current one."""
    return qualified_name(part for part in ("spark_catalog" if name[0] else "", *name) if part)


def _stored(definition: Definition) -> list[Column]:
    """The stored columns. A row that was deleted may have its key only, and a record that cannot be read nothing."""
    incomplete = definition.is_changelog or definition.has_error_column
    return [with_fields(c, nullable=True) if incomplete else c for c in definition.table.stored_columns]


def _column(column: Column) -> str:
    required = "" if column.nullable or column.virtual else " NOT NULL"
    return f"{quote(column.name)} {column.type}{required}{_comment(column.comment)}"


def _comment(comment: str | None) -> str:
    return f" COMMENT {string_literal(comment)}" if comment else ""
