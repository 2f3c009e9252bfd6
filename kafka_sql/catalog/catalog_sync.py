"""The lasting tables and the folder that keeps them: what stands there becomes tables, and what is declared, files."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace as with_fields

from pyspark.errors import PySparkException

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.catalog_table import CatalogTable, TableName, quoted_name
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.catalog.spark_catalog import SparkCatalog
from kafka_sql.errors import KafkaSqlError, TableExistsError
from kafka_sql.table.declaration import Table

_LOG = logging.getLogger("kafka_sql.catalog")


class CatalogSync:
    """The folder of the application's lasting tables, as one session sees it. Without a folder it does nothing."""

    def __init__(
        self,
        lasting: ApplicationTables,
        spark_side: SparkCatalog,
        parse: Callable[[str], Table],
        render: Callable[[Table], str],
        make: Callable[[TableName, Table], CatalogTable],
    ) -> None:
        """Nothing is read yet."""
        self._lasting, self._spark_side = lasting, spark_side
        self._parse, self._render, self._make = parse, render, make

    def attach(self, folder: FileCatalogStore) -> None:
        """Keep the tables in a folder, those that are there already, too, and have those that it holds.

        Raises:
            InvalidOptionError: they are kept in another one.
            TableExistsError: one of them is declared otherwise there.
        """
        if self._lasting.store is None:
            with folder.lock():
                statements = folder.read()
                for entry in self._lasting:
                    if entry.name in statements and not self._says(statements[entry.name], entry):
                        raise TableExistsError(
                            f"Catalog folder '{folder.path}' declares table '{entry.definition.name}' otherwise than "
                            "this application does. DROP TABLE it first, or use another folder."
                        )
                self._lasting.attach(folder)
                for entry in self._lasting:
                    if entry.name not in statements:
                        self.keep(entry)
            self._load(folder)
        self._lasting.attach(folder)
        self.refresh()

    def refresh(self) -> None:
        """Make the tables those of the folder, if it has changed."""
        folder = self._lasting.store
        if folder is not None and folder.has_changed():
            with self._lasting.lock:
                self._load(folder)

    def keep(self, entry: CatalogTable) -> None:
        """Write a table's statement, in the folder's lock.

        Raises:
            CatalogFolderError: it cannot be written.
        """
        folder = self._lasting.store
        if folder is not None and not entry.table.temporary:
            statement = self._render(entry.table)
            folder.write(entry.name, statement)
            self._lasting.statements[entry.name] = statement

    def remove(self, name: TableName) -> None:
        """Drop a table's statement, in the folder's lock."""
        if self._lasting.store is not None:
            self._lasting.store.remove(name)

    def refuse_left_out(self, name: TableName) -> None:
        """Refuse to replace a statement that could not be carried out here.

        Raises:
            TableExistsError: there is one of that name.
        """
        folder = self._lasting.store
        if folder is not None and name in self._lasting.statements and name not in self._lasting.tables:
            raise TableExistsError(
                f"Table '{'.'.join(name)}' exists already in catalog folder '{folder.path}', though its declaration "
                "could not be carried out here. Mend or remove its file first."
            )

    def _says(self, statement: str, entry: CatalogTable) -> bool:
        try:
            return _same(self._parse(statement), entry)
        except KafkaSqlError:
            return False

    def _load(self, folder: FileCatalogStore) -> None:
        """Carry out what has changed. A statement that cannot be carried out is left out with a warning."""
        statements = folder.read()
        for name in [n for n in self._lasting.statements if n not in statements]:
            entry = self._lasting.tables.get(name)
            if entry is not None:
                self._spark_side.remove(entry)
                self._lasting.remove(name)
            self._lasting.statements.pop(name, None)
        for name, statement in statements.items():
            if self._lasting.statements.get(name) != statement:
                self._lasting.statements[name] = statement
                self._carry_out(folder, name, statement)

    def _carry_out(self, folder: FileCatalogStore, name: TableName, statement: str) -> None:
        old = self._lasting.tables.get(name)
        try:
            table = self._parse(statement)
            if old is not None and _same(table, old):
                return
            self._spark_side.spark_sql(f"CREATE DATABASE IF NOT EXISTS {quoted_name((name[0], ''))}")
            entry = self._make(name, with_fields(table, name=name))
            self._spark_side.put(entry, old)
        except (KafkaSqlError, PySparkException) as e:
            _LOG.warning("Catalog folder '%s': table %s is left out: %s", folder.path, ".".join(name), e)
            return
        self._lasting.put(entry)


def _same(table: Table, entry: CatalogTable) -> bool:
    """Whether a declaration is the entry's, wherever it stands."""
    return with_fields(table, name=entry.table.name) == entry.table
