"""The lasting tables of one Spark application, which all of its sessions share, as they share Spark's catalog."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from weakref import WeakValueDictionary

from kafka_sql.catalog.catalog_table import CatalogTable, TableName
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.errors import InvalidOptionError


class ApplicationTables:
    """The tables by name, the folder that keeps them, and the names of data sources that are in use.

    Attributes:
        lock: held by the session that changes them.
        version: grows with every change, so that a session knows when to look again.
        entries: the tables.
        folder: where they are kept, if anywhere.
        texts: the folder's statements as they were last read or written.
    """

    def __init__(self) -> None:
        """No tables."""
        self.version = 0
        self.lock = threading.RLock()
        self.tables: dict[TableName, CatalogTable] = {}
        self.store: FileCatalogStore | None = None
        self.statements: dict[TableName, str] = {}
        self._places: set[TableName] = set()

    def attach(self, folder: FileCatalogStore) -> None:
        """Keep the tables in a folder.

        Raises:
            InvalidOptionError: this application's tables are kept in another one.
        """
        if self.store is not None and self.store.path != folder.path:
            raise InvalidOptionError(
                f"Catalog folder '{folder.path}': the tables of this Spark application are kept in "
                f"'{self.store.path}' already. Use that one, or another application."
            )
        self.store = self.store or folder

    def free_storage_name(self, name: TableName) -> TableName:
        """``name``, or one like it where a table of this application stands there."""
        places = itertools.chain([name], ((name[0], f"{name[1]}_{n}") for n in itertools.count(2)))
        return next(place for place in places if place not in self._places)

    def reserve(self, place: TableName) -> None:
        """Take a place in Spark's catalog."""
        self._places.add(place)

    def release(self, place: TableName) -> None:
        """Give it back."""
        self._places.discard(place)

    def hidden_names(self) -> set[str]:
        """Names that stand in Spark's catalog and are no user's tables."""
        return {place[1] for place in self._places if place not in self.tables}

    def is_reserved(self, place: TableName) -> bool:
        """Whether it is taken."""
        return place in self._places

    def put(self, entry: CatalogTable) -> None:
        """Add or replace a table."""
        self.tables[entry.name] = entry
        self.version += 1

    def remove(self, name: TableName) -> None:
        """Forget a table."""
        del self.tables[name]
        self.statements.pop(name, None)
        self.version += 1

    def __iter__(self) -> Iterator[CatalogTable]:
        """The tables, oldest first."""
        return iter(list(self.tables.values()))


_APPLICATIONS: WeakValueDictionary[str, ApplicationTables] = WeakValueDictionary()


def tables_of_application(application: str) -> ApplicationTables:
    """The tables of an application by its id; the sessions that are enabled keep them alive."""
    found = _APPLICATIONS.get(application)
    if found is None:
        found = _APPLICATIONS[application] = ApplicationTables()
    return found
