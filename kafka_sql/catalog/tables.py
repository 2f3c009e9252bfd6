"""The tables of one session: declared with Flink's DDL, stored in Spark's own catalog.

A table is ``CREATE TABLE t USING kafka.t`` there, so that all of Spark works with it. Where it has computed columns,
or is temporary, the data source stands under a second name and ``t`` is a view over it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kafka_sql.catalog.literals import quote, string
from kafka_sql.catalog.provider import provider
from kafka_sql.definition import Definition, define
from kafka_sql.errors import TableExistsError
from kafka_sql.table import Column, Table

Name = tuple[str, str]  # database, table; the database is empty for a temporary table
_HIDDEN, _TEMPORARY = "__kafka", "__kafka_temporary"  # endings of the data source's name behind a view


@dataclass(frozen=True)
class Entry:
    """A table of the session.

    Attributes:
        name: where it stands.
        definition: what was declared, checked.
        source: the name under which Spark knows the data source itself, quoted.
        provider: the data source's format name.
    """

    name: Name
    definition: Definition
    source: str
    provider: str

    @property
    def table(self) -> Table:
        """The declaration."""
        return self.definition.table

    @property
    def behind_view(self) -> bool:
        """Whether the table's own name is a view over the data source."""
        return bool(self.table.computed) or self.table.temporary


class Tables:
    """The session's tables by name."""

    def __init__(self, spark: SparkSession) -> None:
        """Start empty."""
        self._spark = spark
        self._plain = spark.sql  # before it is taught Flink's statements
        self._entries: dict[Name, Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        """The tables, oldest first."""
        return iter(self._entries.values())

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._entries)

    def plain(self, statement: str) -> DataFrame:
        """Run a statement that is Spark's own."""
        return self._plain(statement)

    def find(self, name: tuple[str, ...]) -> Entry | None:
        """The table that ``name`` means here; a temporary one comes first, as in Spark."""
        parts = tuple(p.lower() for p in name)
        if parts[:1] == ("spark_catalog",) and len(parts) == 3:
            parts = parts[1:]
        if len(parts) == 1:
            return self._entries.get(("", parts[0])) or self._entries.get((self._database(), parts[0]))
        return self._entries.get((parts[0], parts[1])) if len(parts) == 2 else None

    def create(self, table: Table) -> None:
        """Check a declaration and make it a table of Spark's catalog.

        Raises:
            OptionError, SchemaError: the declaration is wrong; nothing is changed.
            TableExistsError: the name is taken, and the statement does not say IF NOT EXISTS.
        """
        name = self._name(table)
        if self._taken(name):
            if table.if_not_exists:
                return
            raise TableExistsError(
                f"Table '{'.'.join(filter(None, name))}' exists already. DROP TABLE it first, or say "
                "CREATE TABLE IF NOT EXISTS."
            )
        definition = define(replace(table, name=tuple(filter(None, name))))
        entry = self._entry(name, definition)
        kind = provider(entry.provider, definition, spark_schema(table))
        self._spark.dataSource.register(kind)
        comment = f" COMMENT {string(table.comment)}" if table.comment else ""
        self.plain(f"CREATE TABLE {entry.source} USING {quote(entry.provider)}{comment}")
        if entry.behind_view:
            self._create_view(entry, comment)
        self._entries[name] = entry

    def _create_view(self, entry: Entry, comment: str) -> None:
        table = entry.table
        columns = ", ".join(
            quote(c.name) + (f" COMMENT {string(c.comment)}" if c.comment else "") for c in table.columns
        )
        kind = "TEMPORARY VIEW" if table.temporary else "VIEW"
        try:
            self.plain(f"CREATE {kind} {_dotted(entry.name)} ({columns}){comment} AS {select(entry)}")
        except Exception:
            self.plain(f"DROP TABLE {entry.source}")  # all or nothing
            raise

    def drop(self, name: tuple[str, ...], temporary: bool = False) -> bool:
        """Drop a table of this session; whether there was one."""
        entry = self.find(name)
        if entry is None or (temporary and not entry.table.temporary):
            return False
        if entry.behind_view:
            self.plain(f"DROP VIEW IF EXISTS {_dotted(entry.name)}")
        self.plain(f"DROP TABLE IF EXISTS {entry.source}")
        del self._entries[entry.name]
        return True

    def hidden(self) -> set[str]:
        """Names that stand in Spark's catalog but are no user's tables."""
        return {e.name[1] + (_TEMPORARY if e.table.temporary else _HIDDEN) for e in self if e.behind_view}

    def _name(self, table: Table) -> Name:
        *database, name = (part.lower() for part in table.name)
        if table.temporary:
            return ("", name)
        return (database[-1] if database else self._database(), name)

    def _entry(self, name: Name, definition: Definition) -> Entry:
        database, table = name
        home = database or self._database()
        # two tables of one name in two databases are two providers
        kind = ".".join(["kafka", *([] if home == "default" else [home]), table])
        if not database:  # beside a lasting table of the same name
            return Entry(name, definition, _dotted((home, table + _TEMPORARY)), kind + _TEMPORARY)
        return Entry(name, definition, _dotted((home, table + (_HIDDEN if definition.table.computed else ""))), kind)

    def _taken(self, name: Name) -> bool:
        database, table = name
        if not database:
            return name in self._entries
        # listed, not loaded: a table of another session has no provider in this one
        return any(row.tableName.lower() == table for row in self.plain(f"SHOW TABLES IN {quote(database)}").collect())

    def _database(self) -> str:
        return self._spark.catalog.currentDatabase().lower()


def select(entry: Entry, stream: bool = False) -> str:
    """The table as declared, over its data source."""
    items = ", ".join(
        quote(c.name) if c.expression is None else f"{c.expression} AS {quote(c.name)}" for c in entry.table.columns
    )
    return f"SELECT {items} FROM {'STREAM ' if stream else ''}{entry.source}"


def spark_schema(table: Table) -> StructType:
    """The stored columns in Spark's types. A read-only column is nullable, as an INSERT leaves it out."""
    schema = StructType.fromDDL(", ".join(_column(c) for c in table.stored))
    assert isinstance(schema, StructType)
    return schema


def _column(column: Column) -> str:
    required = "" if column.nullable or column.virtual else " NOT NULL"
    comment = f" COMMENT {string(column.comment)}" if column.comment else ""
    return f"{quote(column.name)} {column.type}{required}{comment}"


def _dotted(name: Name) -> str:
    return ".".join(quote(part) for part in name if part)
