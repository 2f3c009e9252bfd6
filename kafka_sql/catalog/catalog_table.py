"""A declared table as it stands in Spark: the names behind it, and its SQL."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as with_fields
from typing import Final

from pyspark.sql.types import StructType

from kafka_sql.catalog.data_source import KafkaTable, provider
from kafka_sql.catalog.sql_literals import path, quote, string
from kafka_sql.definition import Definition
from kafka_sql.table.declaration import Column, Table

OWNER: Final = "kafka_sql.owner"  # a table property: the application that created the table

Name = tuple[str, str]  # database, table, in lower case; the database is empty for a temporary table


@dataclass(frozen=True)
class Entry:
    """A table of a session.

    Attributes:
        name: where it stands.
        definition: what was declared, checked.
        place: the database and name under which Spark's catalog holds the data source itself.
        kind: the data source's class, whose name is the format's name.
    """

    name: Name
    definition: Definition
    place: Name
    kind: type[KafkaTable]

    @property
    def table(self) -> Table:
        """The declaration."""
        return self.definition.table

    @property
    def source(self) -> str:
        """The data source's name in SQL."""
        return dotted(self.place)

    @property
    def provider(self) -> str:
        """The data source's format name."""
        return self.kind.name()

    @property
    def behind_view(self) -> bool:
        """Whether the table's own name is a view over the data source."""
        return self.name != self.place


def make_entry(name: Name, definition: Definition, place: Name, known_as: Name) -> Entry:
    """An entry with its own data source class, whose format is called ``kafka.<known_as>``.

    Raises:
        SchemaError: a column that the format or Kafka's metadata cannot carry.
    """
    # two tables of one name in two databases are two providers
    format_name = ".".join(["kafka", *([] if known_as[0] == "default" else [known_as[0]]), known_as[1]])
    return Entry(name, definition, place, provider(format_name, definition, spark_schema(definition)))


def create_source(entry: Entry, owner: str) -> str:
    """The statement that makes the data source a table of Spark's. With its columns: Spark asks no worker then."""
    columns = ", ".join(map(_column, _stored(entry.definition)))
    return (
        f"CREATE TABLE {entry.source} ({columns}) USING {quote(entry.provider)}{_comment(entry.table.comment)} "
        f"TBLPROPERTIES ({string(OWNER)} = {string(owner)})"
    )


def create_view(entry: Entry) -> str:
    """The statement that makes the table's own name a view over its data source."""
    table = entry.table
    columns = ", ".join(quote(c.name) + _comment(c.comment) for c in table.columns)
    kind = "TEMPORARY VIEW" if table.temporary else "VIEW"
    return f"CREATE {kind} {dotted(entry.name)} ({columns}){_comment(table.comment)} AS {select(entry)}"


def select(entry: Entry, stream: bool = False) -> str:
    """The table as declared, over its data source."""
    items = ", ".join(
        quote(c.name) if c.expression is None else f"{c.expression} AS {quote(c.name)}" for c in entry.table.columns
    )
    return f"SELECT {items} FROM {'STREAM ' if stream else ''}{entry.source}"


def spark_schema(definition: Definition) -> StructType:
    """The stored columns in Spark's types. A read-only column is nullable, as an INSERT leaves it out."""
    schema = StructType.fromDDL(", ".join(map(_column, _stored(definition))))
    assert isinstance(schema, StructType)
    return schema


def dotted(name: Name) -> str:
    """A name in SQL; of a lasting table with Spark's own catalog, as another one may be the current one."""
    return path(part for part in ("spark_catalog" if name[0] else "", *name) if part)


def _stored(definition: Definition) -> list[Column]:
    """The stored columns. A row that was deleted may have its key only, and a record that cannot be read nothing."""
    incomplete = definition.is_changelog or definition.has_error_column
    return [with_fields(c, nullable=True) if incomplete else c for c in definition.table.stored_columns]


def _column(column: Column) -> str:
    required = "" if column.nullable or column.virtual else " NOT NULL"
    return f"{quote(column.name)} {column.type}{required}{_comment(column.comment)}"


def _comment(comment: str | None) -> str:
    return f" COMMENT {string(comment)}" if comment else ""
