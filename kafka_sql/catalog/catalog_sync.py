"""Synchronize the permanent tables with their catalog folder: its files become tables, and new tables become files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from pyspark.errors import PySparkException

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.catalog_table import CatalogTable, quoted_name
from kafka_sql.catalog.file_store import FileCatalogStore, TableName
from kafka_sql.catalog.spark_catalog import SparkCatalog
from kafka_sql.errors import KafkaSqlError, TableExistsError
from kafka_sql.table.table import Table

_LOG = logging.getLogger("kafka_sql.catalog")


class CatalogSync:
    """One session's view of the application's catalog folder. Without a folder, it does nothing."""

    def __init__(
        self,
        permanent: ApplicationTables,
        spark_catalog: SparkCatalog,
        parse: Callable[[str], Table],
        render: Callable[[Table], str],
        make_table: Callable[[TableName, Table], CatalogTable],
    ) -> None:
        self._permanent, self._spark_catalog = permanent, spark_catalog
        self._parse, self._render, self._make_table = parse, render, make_table

    def attach(self, store: FileCatalogStore) -> None:
        """Write the existing tables to the store, and create the tables that the store declares.

        Raises:
            InvalidOptionError: this application uses another store.
            TableExistsError: the store declares one of the tables differently.
        """
        if self._permanent.store is None:
            with store.lock():
                statements = store.read()
                for entry in self._permanent:
                    if entry.name in statements and not self._declares(statements[entry.name], entry):
                        raise TableExistsError(
                            f"Catalog folder '{store.path}' declares table '{entry.definition.name}' differently from "
                            "this application. DROP TABLE it first, or use another folder.",
                            table=entry.definition.name,
                        )
                self._permanent.attach(store)
                for entry in self._permanent:
                    if entry.name not in statements:
                        self.save(entry)
            self._load(store, {})
        else:
            self._permanent.attach(store)  # raises if this application uses another store
            self.refresh()

    def refresh(self) -> None:
        """Apply the changes in the folder since it was last read."""
        store = self._permanent.store
        if store is not None and store.has_changed():
            with self._permanent.lock:
                self._load(store, store.statements)

    def save(self, entry: CatalogTable) -> None:
        """Write a table's statement; the caller holds the store's lock.

        Raises:
            CatalogFolderError: the file cannot be written.
        """
        store = self._permanent.store
        if store is not None and not entry.table.temporary:
            store.write(entry.name, self._render(entry.table))

    def remove(self, name: TableName) -> None:
        """Remove a table's statement; the caller holds the store's lock."""
        if self._permanent.store is not None:
            self._permanent.store.remove(name)

    def check_file_is_applied(self, name: TableName) -> None:
        """Raise TableExistsError if creating a table would overwrite a file that this session could not apply."""
        store = self._permanent.store
        if store is not None and name in store.statements and name not in self._permanent.tables:
            raise TableExistsError(
                f"Table '{'.'.join(name)}' already exists in catalog folder '{store.path}', but its declaration could "
                "not be applied here. Fix or remove its file first.",
                table=".".join(name),
            )

    def _declares(self, statement: str, entry: CatalogTable) -> bool:
        try:
            return _is_same(self._parse(statement), entry)
        except KafkaSqlError:
            return False

    def _load(self, store: FileCatalogStore, known: Mapping[TableName, str]) -> None:
        """Apply what has changed in the folder. A statement that fails is skipped with a warning."""
        statements = store.read()
        for name in known.keys() - statements.keys():
            entry = self._permanent.tables.get(name)
            if entry is not None:
                self._spark_catalog.remove(entry)
                self._permanent.remove(name)
        for name, statement in statements.items():
            if known.get(name) != statement:
                self._apply(store, name, statement)

    def _apply(self, store: FileCatalogStore, name: TableName, statement: str) -> None:
        old = self._permanent.tables.get(name)
        try:
            table = self._parse(statement)
            if old is not None and _is_same(table, old):
                return
            self._spark_catalog.spark_sql(f"CREATE DATABASE IF NOT EXISTS {quoted_name((name[0], ''))}")
            entry = self._make_table(name, replace(table, name=name))
            self._spark_catalog.put(entry, old)
        except (KafkaSqlError, PySparkException) as e:
            _LOG.warning("Catalog folder '%s': table %s is skipped: %s", store.path, ".".join(name), e)
            return
        self._permanent.put(entry)


def _is_same(table: Table, entry: CatalogTable) -> bool:
    """Return whether a declaration equals the entry's, apart from the name, which is that of the file."""
    return replace(table, name=entry.table.name) == entry.table
