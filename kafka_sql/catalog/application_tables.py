"""Hold the permanent tables of a Spark application. All of its sessions share them, as they share Spark's catalog."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from weakref import WeakValueDictionary

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.file_store import FileCatalogStore, TableName
from kafka_sql.errors import InvalidOptionError


class ApplicationTables:
    """The permanent tables by name, the store that persists them, and the storage names in use."""

    def __init__(self, private_database: str | None = None) -> None:
        # the database in Spark's catalog for all tables of a Spark Connect client, whose names are temporary views;
        # None if tables are created under their names
        self.private_database = private_database
        self.version = 0  # increases with every change, so that a session knows when to refresh
        self.lock = threading.RLock()  # held by the session that changes the tables
        self.tables: dict[TableName, CatalogTable] = {}
        self.store: FileCatalogStore | None = None  # where the tables are persisted, if anywhere
        # tables of hints in views -> the options of the hint, which may be secrets; also of tables that were dropped,
        # whose views remain
        self.view_hints: dict[TableName, dict[str, str]] = {}
        # storage names of tables whose computed columns may be Spark's expressions -> the settings of CREATE TABLE
        self.view_settings: dict[TableName, dict[str, str]] = {}
        self.storage_names: set[TableName] = set()  # names in Spark's catalog that this application uses

    def attach(self, store: FileCatalogStore) -> None:
        """Persist the tables in a store.

        Raises:
            InvalidOptionError: this application uses another store.
        """
        if self.store is not None and self.store.path != store.path:
            raise InvalidOptionError(
                f"Catalog folder '{store.path}': this Spark application already uses catalog folder "
                f"'{self.store.path}'. Use that folder, or start another application.",
                option="spark.kafka_sql.catalog",
            )
        self.store = self.store or store

    def free_storage_name(self, name: TableName) -> TableName:
        """Return ``name``, with a number appended if this application uses it."""
        candidates = itertools.chain([name], ((name[0], f"{name[1]}_{n}") for n in itertools.count(2)))
        return next(candidate for candidate in candidates if candidate not in self.storage_names)

    def internal_names(self) -> set[str]:
        """Return the names in Spark's catalog that are not tables of a user, such as the sources behind views."""
        return {name[1] for name in self.storage_names if name not in self.tables}

    def put(self, entry: CatalogTable) -> None:
        self.tables[entry.name] = entry
        self.version += 1

    def remove(self, name: TableName) -> None:
        del self.tables[name]
        self.version += 1

    def __iter__(self) -> Iterator[CatalogTable]:
        """Iterate over the tables, oldest first."""
        return iter(list(self.tables.values()))


_APPLICATIONS: WeakValueDictionary[str, ApplicationTables] = WeakValueDictionary()


def tables_of_application(application_id: str) -> ApplicationTables:
    """Return the tables of an application; its enabled sessions keep them alive."""
    tables = _APPLICATIONS.get(application_id)
    if tables is None:
        tables = _APPLICATIONS[application_id] = ApplicationTables()
    return tables
