"""The tables of one session: declared with Flink's DDL, stored in Spark's own catalog.

A table is ``CREATE TABLE t USING kafka.t`` there, so that all of Spark works with it. Where it has computed columns,
or is temporary, the data source stands under a second name and ``t`` is a view over it.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as with_fields

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.catalog_sync import CatalogSync
from kafka_sql.catalog.catalog_table import CatalogTable, TableName, make_catalog_table
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.catalog.spark_catalog import HIDDEN, SparkCatalog
from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import StatementError, TableExistsError, UnsupportedSqlError
from kafka_sql.source.reader.bad_record_counters import accumulator_id
from kafka_sql.table.declaration import Table

__all__ = ["CatalogTable", "Tables"]

_SPARKS_NAME = re.compile(r"\w+", re.ASCII)
_TEMPORARY, _HINTED = "__kafka_temporary", "__kafka_hinted"  # endings of data sources' names behind other views


class Tables:
    """The session's tables by name: its temporary ones, and the lasting ones of the application."""

    def __init__(
        self,
        spark: SparkSession,
        plain: Callable[[str], DataFrame],
        lasting: ApplicationTables,
        parse: Callable[[str], Table],
        render: Callable[[Table], str],
    ) -> None:
        """Start with the lasting tables that there are.

        Args:
            plain: Spark's own ``sql()``.
            parse, render: a statement to a table, and back with its secrets, for the folder.
        """
        self._spark_side = SparkCatalog(spark, plain, lasting)
        self._listener = accumulator_id(spark)
        self._lasting = lasting
        self._kept = CatalogSync(lasting, self._spark_side, parse, render, self._entry)
        self._temporary: dict[TableName, CatalogTable] = {}
        self._hinted: dict[tuple[TableName, frozenset[tuple[str, str]]], tuple[CatalogTable, CatalogTable]] = {}
        self._version = 0
        self.refresh()

    def __iter__(self) -> Iterator[CatalogTable]:
        """The tables; the temporary ones first, as they hide the others."""
        return itertools.chain(list(self._temporary.values()), self._lasting)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._temporary or self._lasting.tables)

    @property
    def spark_sql(self) -> Callable[[str], DataFrame]:
        """Spark's own ``sql()``, for a statement of ours."""
        return self._spark_side.spark_sql

    def is_hidden_by_view(self, name: str) -> bool:
        """Whether a temporary view of Spark's hides the lasting tables of a name."""
        return self._spark_side.has_temporary_view(name)

    def attach(self, folder: FileCatalogStore) -> None:
        """Keep the lasting tables in a folder, and have those that it holds.

        Raises:
            InvalidOptionError: they are kept in another one.
            TableExistsError: a table of the application is declared otherwise there.
        """
        with self._lasting.lock:
            self._kept.attach(folder)
        self.refresh()

    def refresh(self) -> None:
        """See what other sessions and the folder's other users have declared: a look at the files' times."""
        self._kept.refresh()
        if self._version != self._lasting.version:
            with self._lasting.lock:
                for entry in self._lasting:
                    self._spark_side.register(entry)
                self._version = self._lasting.version

    def find(self, name: tuple[str, ...]) -> CatalogTable | None:
        """The table that ``name`` means here; a temporary one comes first, as in Spark."""
        parts = tuple(p.lower() for p in name)
        if len(parts) == 1 and ("", parts[0]) in self._temporary:
            return self._temporary["", parts[0]]
        named = [n for n in self._lasting.tables if n[1] == parts[-1]]
        if not named:  # Spark need not be asked where it stands
            return None
        if len(parts) == 3:
            return self._lasting.tables.get(parts[1:]) if parts[0] == "spark_catalog" else None
        if len(parts) > 3 or self._spark_side.catalog() != "spark_catalog":
            return None
        return self._lasting.tables.get(parts if len(parts) == 2 else (self._spark_side.database(), parts[0]))

    def create(self, table: Table, replace: bool = False) -> CatalogTable | None:
        """Check a declaration and make it a table of Spark's catalog.

        Returns:
            the table; None where the name is taken and the statement says IF NOT EXISTS.

        Raises:
            OptionError, SchemaError: the declaration is wrong; nothing is changed.
            TableExistsError: the name is taken, and the statement says neither IF NOT EXISTS nor OR REPLACE.
        """
        name = self._name(table)
        with self._writing(name):
            old = (self._lasting.tables if name[0] else self._temporary).get(name)
            try:
                if old is not None and not replace:
                    raise TableExistsError(
                        f"Table '{old.definition.name}' exists already. DROP TABLE it first, or say "
                        "CREATE TABLE IF NOT EXISTS."
                    )
                self._kept.refuse_left_out(name)
                return self._put(self._entry(name, table), old)
            except TableExistsError:
                if not table.if_not_exists:
                    raise
                return None

    def alter(self, entry: CatalogTable, table: Table) -> None:
        """Give a table another declaration; its name stays.

        Raises:
            OptionError, SchemaError: the declaration is wrong; nothing is changed.
        """
        with self._writing(entry.name):
            self._put(self._entry(entry.name, table), entry)

    def rename(self, entry: CatalogTable, name: tuple[str, ...]) -> None:
        """Give a table another name.

        Raises:
            UnsupportedSqlError: a temporary table cannot be renamed.
            TableExistsError: the name is taken.
        """
        if entry.table.temporary:
            raise UnsupportedSqlError(f"ALTER TABLE {entry.definition.name} RENAME: a temporary table keeps its name.")
        table = with_fields(entry.table, name=name if len(name) > 1 else (entry.name[0], *name))
        self.create(with_fields(table, if_not_exists=False))
        self.remove(entry)

    def drop(self, name: tuple[str, ...], temporary: bool = False) -> bool:
        """Drop a table; whether there was one.

        Raises:
            StatementError: a temporary table hides the one that is to be dropped.
        """
        entry = self.find(name)
        if entry is None or (temporary and not entry.table.temporary):
            return False
        if entry.table.temporary and not temporary and any(e.name[1] == entry.name[1] for e in self._lasting):
            raise StatementError(
                f"Temporary table with identifier '{entry.definition.name}' exists. Drop it first, by DROP TEMPORARY "
                "TABLE, before removing the permanent table."
            )
        self.remove(entry)
        return True

    def remove(self, entry: CatalogTable) -> None:
        """Drop a table."""
        with self._writing(entry.name):
            if (self._lasting.tables if entry.name[0] else self._temporary).get(entry.name) is None:
                return  # another session was faster
            self._spark_side.remove(entry)
            for key in [k for k in self._hinted if k[0] == entry.name]:
                self._spark_side.drop_source(self._hinted.pop(key)[1])
            if entry.table.temporary:
                del self._temporary[entry.name]
            else:
                self._kept.remove(entry.name)
                self._lasting.remove(entry.name)

    def with_options(self, entry: CatalogTable, options: Mapping[str, str]) -> CatalogTable:
        """The same table with other options laid over its own, as ``/*+ OPTIONS(...) */`` asks for.

        Raises:
            OptionError: the options are wrong.
        """
        key = entry.name, frozenset(options.items())
        with self._lasting.lock:
            made_for, found = self._hinted.get(key, (None, None))
            if found is not None:
                if made_for is entry:
                    return found
                self._spark_side.drop_source(found)  # the table has been altered since
            table = with_fields(entry.table, options={**entry.table.options, **options})
            place = self._lasting.free_storage_name((entry.storage_name[0], entry.name[1] + _HINTED))
            hinted = make_catalog_table(entry.name, self._define(table), place, known_as=place)
            self._spark_side.register(hinted)
            self._spark_side.create_source(hinted)
            self._hinted[key] = entry, hinted
            return hinted

    def hidden_names(self) -> set[str]:
        """Names that stand in Spark's catalog but are no user's tables."""
        return self._lasting.hidden_names()

    def _put(self, entry: CatalogTable, old: CatalogTable | None) -> CatalogTable:
        """Put an entry in the place of the old one, in Spark and in the folder; all or nothing."""
        self._spark_side.put(entry, old)
        try:
            self._kept.keep(entry)
        except BaseException:
            self._spark_side.remove(entry)
            if old is not None:
                self._spark_side.put(old, None)
            raise
        if entry.table.temporary:
            self._temporary[entry.name] = entry
        else:
            self._lasting.put(entry)
        return entry

    @contextlib.contextmanager
    def _writing(self, name: TableName) -> Iterator[None]:
        """One writer at a time, in this process and among the folder's, who knows what others wrote before."""
        folder = self._lasting.store if name[0] else None
        with self._lasting.lock, folder.lock() if folder is not None else contextlib.nullcontext():
            if folder is not None:
                self.refresh()
            yield

    def _name(self, table: Table) -> TableName:
        *database, name = (part.lower() for part in table.name)
        if table.temporary:
            if database:
                raise StatementError(
                    f"CREATE TEMPORARY TABLE {'.'.join(table.name)}: a temporary table stands in no database. Leave "
                    f"'{'.'.join(table.name[:-1])}' out."
                )
            return ("", name)
        found = (database[-1] if database else self._spark_side.database(), name)
        for part in found:
            if not _SPARKS_NAME.fullmatch(part):
                raise StatementError(
                    f"CREATE TABLE {'.'.join(found)}: Spark takes names of letters a to z, digits and _ only, and "
                    f"'{part}' has others. The topic may have any name; a TEMPORARY TABLE, too."
                )
        return found

    def _define(self, table: Table) -> Definition:
        return with_fields(validate_table(table), accumulator_id=self._listener)

    def _entry(self, name: TableName, table: Table) -> CatalogTable:
        definition = self._define(with_fields(table, name=tuple(filter(None, name)), if_not_exists=False))
        database, short = name
        if not database:  # beside a lasting table of the same name
            plain_name = re.sub(r"\W", "_", short, flags=re.ASCII)
            place = self._lasting.free_storage_name((self._spark_side.database(), plain_name + _TEMPORARY))
            return make_catalog_table(name, definition, place, known_as=place)
        return make_catalog_table(
            name, definition, (database, short + (HIDDEN if table.computed_columns else "")), known_as=name
        )
