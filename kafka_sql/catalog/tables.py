"""Create, find, alter and drop the Kafka tables of one session.

They are declared with Flink's DDL. In Spark's catalog, table ``t`` is ``CREATE TABLE t USING kafka.t``, so that all of
Spark works with it. If ``t`` has computed columns or is temporary, that table has another name, the storage name, and
``t`` is a view over it. Over Spark Connect, where clients share the server's catalog, ``t`` is a temporary view and the
table behind it is in a database of this client.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog import view_hints
from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.catalog_sync import CatalogSync
from kafka_sql.catalog.catalog_table import CatalogTable, make_catalog_table, make_changes_table
from kafka_sql.catalog.file_store import FileCatalogStore, TableName
from kafka_sql.catalog.spark_catalog import VIEW_SOURCE_SUFFIX, SparkCatalog
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.storage_names import SUFFIX
from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import KafkaSqlError, MissingOptionError, StatementError, TableExistsError, UnsupportedSqlError
from kafka_sql.inherited_secrets import check_inherited_secrets
from kafka_sql.source.reader.record_counters import accumulator_id
from kafka_sql.spark.session_catalog import SESSION_CATALOG
from kafka_sql.table.table import Column, Table

_LOG = logging.getLogger(__name__)
_VALID_NAME = re.compile(r"\w+", re.ASCII)
# suffixes of storage names
_TEMPORARY_SUFFIX, _HINTED_SUFFIX = f"{SUFFIX}_temporary", f"{SUFFIX}_hinted"


class Tables:
    """The session's tables by name: its temporary tables, and the permanent tables of the application."""

    def __init__(
        self,
        spark: SparkSession,
        spark_sql: Callable[[str], DataFrame],
        permanent: ApplicationTables,
        parse: Callable[[str], Table],
        render: Callable[[Table], str],
    ) -> None:
        """Start with the application's permanent tables.

        Args:
            spark_sql: Spark's own ``sql()``.
            parse, render: convert a statement to a table, and a table to a statement with its secrets.
        """
        self._spark_catalog = SparkCatalog(spark, spark_sql, permanent)
        self.spark_sql = self._spark_catalog.spark_sql  # Spark's own, without Flink's statements
        self.check_settings = self._spark_catalog.check_settings
        self.add_functions = self._spark_catalog.add_functions  # those in Java, which rewritten queries call
        self.is_hidden_by_view = self._spark_catalog.has_temporary_view  # whether one hides the table with a name
        # drop what other clients of a Spark Connect server would still see after the session has ended
        self.close = self._spark_catalog.drop_private_database
        # whether Spark finds the permanent tables as temporary views, which have no database
        self.are_private = permanent.private_database is not None
        self._accumulator_id = accumulator_id(spark)
        self._permanent = permanent
        self._sync = CatalogSync(permanent, self._spark_catalog, parse, render, self._make_table)
        self.stream_views: set[str] = set()  # temporary views of streams with event time
        # options of read_kafka(...), and whether it returns headers -> the name of the temporary table for it
        self.names_of_calls: dict[tuple[frozenset[tuple[str, str]], bool], str] = {}
        self._temporary: dict[TableName, CatalogTable] = {}
        # name of a table, and the options or columns of a variant -> the table, and the variant
        self._variants: dict[tuple[TableName, frozenset[tuple[str, str]]], tuple[CatalogTable, CatalogTable]] = {}
        self._changes: dict[str, tuple[CatalogTable, CatalogTable]] = {}  # provider -> the table, and its changes
        self._version = 0
        self.refresh()

    def __iter__(self) -> Iterator[CatalogTable]:
        """Iterate over the tables; temporary tables come first because they hide others."""
        return itertools.chain(list(self._temporary.values()), self._permanent)

    def __bool__(self) -> bool:
        """Return whether there are any tables."""
        return bool(self._temporary or self._permanent.tables)

    def attach(self, store: FileCatalogStore) -> None:
        """Persist the permanent tables in a store, and create the tables that it declares.

        Raises:
            InvalidOptionError: this application uses another store.
            TableExistsError: the store declares one of the tables differently.
        """
        with self._permanent.lock:
            self._sync.attach(store)
        self.refresh()

    def refresh(self) -> None:
        """Apply the changes of other sessions and processes, and of the session's time zone.

        Without any, this only compares file times, and the time zone if a table depends on it.
        """
        self._sync.refresh()
        self._spark_catalog.update_time_zone()
        if self._version != self._permanent.version:
            with self._permanent.lock:
                for entry in self._permanent:
                    self._spark_catalog.register(entry)
                self._version = self._permanent.version

    def find(self, name: tuple[str, ...]) -> CatalogTable | None:
        """Return the table with a name; temporary tables come first, as in Spark."""
        parts = tuple(p.lower() for p in name)
        if len(parts) == 1 and ("", parts[0]) in self._temporary:
            return self._temporary["", parts[0]]
        if not any(table == parts[-1] for _, table in self._permanent.tables):
            return None  # without looking up the current database
        if len(parts) == 1 and self.are_private:  # a temporary view is the same in every database
            return next(entry for entry in self._permanent if entry.name[1] == parts[0])
        if len(parts) == 3:
            return self._permanent.tables.get(parts[1:]) if parts[0] == SESSION_CATALOG else None
        if len(parts) > 3 or self._spark_catalog.current_catalog() != SESSION_CATALOG:
            return None
        return self._permanent.tables.get(
            parts if len(parts) == 2 else (self._spark_catalog.current_database(), parts[0])
        )

    def create(self, table: Table, replace: bool = False) -> CatalogTable | None:
        """Validate a table and create it.

        Returns:
            the table; None if the name is in use and the statement has IF NOT EXISTS.

        Raises:
            OptionError, SchemaError: the table is invalid; nothing changes.
            TableExistsError: the name is in use, and the statement has neither IF NOT EXISTS nor OR REPLACE.
        """
        entry = self._create(self._target_name(table), table, replace)
        if entry is not None:
            self._update_tables_of_views(entry)
        return entry

    def _create(self, name: TableName, table: Table, replace: bool) -> CatalogTable | None:
        with self._write_lock(name):
            old = self._get(name)
            try:
                if old is not None and not replace:
                    raise TableExistsError(
                        f"Table '{old.definition.name}' already exists. DROP TABLE it first, or use "
                        "CREATE OR REPLACE TABLE or CREATE TABLE IF NOT EXISTS.",
                        table=old.definition.name,
                    )
                self._sync.check_file_is_applied(name)
                return self._put(self._make_table(name, table), old)
            except TableExistsError:
                if not table.if_not_exists:
                    raise
                return None

    def alter(self, entry: CatalogTable, table: Table) -> None:
        """Replace a table by an altered one. If that is invalid, nothing changes (see ``create``).

        Raises:
            OptionError, SchemaError: the table is invalid; nothing changes.
        """
        self._remember_hints(entry)
        with self._write_lock(entry.name):
            altered = self._put(self._make_table(entry.name, table), entry)
        self._update_tables_of_views(altered)

    def rename(self, entry: CatalogTable, name: tuple[str, ...]) -> None:
        """Rename a table.

        Raises:
            UnsupportedSqlError: a temporary table cannot be renamed.
            TableExistsError: the name is in use.
        """
        if entry.table.temporary:
            raise UnsupportedSqlError(
                f"ALTER TABLE {entry.definition.name} RENAME: a temporary table cannot be renamed.",
                table=entry.definition.name,
            )
        table = replace(entry.table, name=name if len(name) > 1 else (entry.name[0], *name))
        self.create(replace(table, if_not_exists=False))
        self.remove(entry)

    def drop(self, name: tuple[str, ...], temporary: bool = False) -> bool:
        """Drop a table and return whether it existed; raise StatementError if a temporary table hides it."""
        entry = self.find(name)
        if entry is None or (temporary and not entry.table.temporary):
            return False
        if entry.table.temporary and not temporary and any(e.name[1] == entry.name[1] for e in self._permanent):
            raise StatementError(
                f"Temporary table with identifier '{entry.definition.name}' exists. Drop it first, by DROP TEMPORARY "
                "TABLE, before removing the permanent table.",
                table=entry.definition.name,
            )
        self.remove(entry)
        return True

    def remove(self, entry: CatalogTable) -> None:
        with self._write_lock(entry.name):
            if self._get(entry.name) is None:
                return  # another session dropped it first
            self._spark_catalog.remove(entry)
            for key in [k for k in self._variants if k[0] == entry.name]:
                self._spark_catalog.drop_source(self._variants.pop(key)[1])
            if entry.table.temporary:
                del self._temporary[entry.name]
            else:
                self._sync.remove(entry.name)
                self._permanent.remove(entry.name)
        for derived in self._remember_hints(entry):
            self.remove(derived)

    def with_options(self, entry: CatalogTable, options: Mapping[str, str]) -> CatalogTable:
        """Return the table with some options replaced, for ``/*+ OPTIONS(...) */``.

        Raises:
            OptionError: an option is invalid, or changes where the table's secrets are sent.
        """

        def define() -> Definition:
            return replace(self._validate(_with_hint(entry, options)), statement_options=frozenset(options))

        return self._variant(entry, frozenset(options.items()), define)

    def with_metadata(self, entry: CatalogTable, *columns: Column) -> CatalogTable:
        """Return the table with further metadata columns, which are last."""

        def define() -> Definition:
            return replace(entry.definition, table=replace(entry.table, columns=(*entry.table.columns, *columns)))

        names = ((column.name, column.metadata or "") for column in columns)
        return self._variant(entry, frozenset((("provider", entry.provider), *names)), define)

    def _variant(
        self, entry: CatalogTable, difference: frozenset[tuple[str, str]], define: Callable[[], Definition]
    ) -> CatalogTable:
        """Return a variant of a table under a name that no user sees; another one after the table was altered."""
        key = entry.name, difference
        with self._permanent.lock:
            if key in self._variants:
                original, variant = self._variants[key]
                if original is entry:
                    return variant
                self._spark_catalog.drop_source(variant)
            name = (entry.storage_name[0], _valid_name(entry.name[1]) + _HINTED_SUFFIX)
            storage_name = self._permanent.free_storage_name(name)
            variant = make_catalog_table(entry.name, define(), storage_name, storage_name, entry.source_catalog)
            self._spark_catalog.register(variant)
            self._spark_catalog.create_source(variant)
            self._variants[key] = entry, variant
            return variant

    def with_options_for_view(self, entry: CatalogTable, options: Mapping[str, str]) -> CatalogTable:
        """Return the table with some options replaced, for a view with ``/*+ OPTIONS(...) */``.

        Unlike that of ``with_options``, it has a name in Spark's catalog that a view can store. It changes with
        ``entry`` and is dropped with it.

        Raises:
            OptionError: an option is invalid, or changes where the table's secrets are sent.
        """
        table = _with_hint(entry, options)
        hints = self._permanent.view_hints
        with self._permanent.lock:
            for derived in self._remember_hints(entry):
                if hints[derived.name] == options and derived.table.options == table.options:
                    return derived
            name = view_hints.free_name(entry.name, {*hints, *(e.name for e in self)})
            created = self._create(name, replace(table, name=name, if_not_exists=False), replace=False)
            assert created is not None
            hints[name] = dict(options)
            return created

    def _remember_hints(self, entry: CatalogTable) -> list[CatalogTable]:
        """Return the tables of views' hints on a table; keep the hints of those that a catalog folder declares."""
        derived = [e for e in self if view_hints.base_of(e.name) == entry.name]
        for e in derived:
            self._permanent.view_hints.setdefault(e.name, view_hints.hint_of(entry.table, e.table))
        return derived

    def hints_of_views(self) -> Iterator[tuple[CatalogTable, CatalogTable, Mapping[str, str]]]:
        """Yield the tables of hints in views, each with the table that the hint is on, and the options of the hint."""
        for entry in self:
            base_name = view_hints.base_of(entry.name)
            base = self._get(base_name) if base_name is not None else None
            if base is not None:
                hint = self._permanent.view_hints.get(entry.name) or view_hints.hint_of(base.table, entry.table)
                yield entry, base, hint

    def _update_tables_of_views(self, entry: CatalogTable) -> None:
        """Recreate the tables of hints in views after the table that the hints are on has changed."""
        hints = self._permanent.view_hints
        for name in [name for name in hints if view_hints.base_of(name) == entry.name]:
            derived = self._get(name)
            try:
                table = replace(_with_hint(entry, hints[name]), name=name, if_not_exists=False)
                # nor do the secrets of the hint follow the table
                sent = derived.table.options if derived is not None else hints[name]
                check_inherited_secrets(sent, table.options, table.options.keys() - hints[name].keys())
                self._create(name, table, replace=True)
            except KafkaSqlError as e:
                _LOG.warning("The hint of a view on table %s is no longer valid: %s", entry.definition.name, e)
                if derived is not None:
                    self.remove(derived)

    def with_changes(self, entry: CatalogTable) -> CatalogTable:
        """Return the table with the row kind and the order of each change, to read its changes or to write them.

        Only Spark's readers and writers find it, by its provider; it is not in Spark's catalog.
        """
        with self._permanent.lock:
            changes = self._changes.get(entry.provider)
            if changes is None or changes[0] is not entry:
                changes = self._changes[entry.provider] = entry, make_changes_table(entry)
                self._spark_catalog.register(changes[1])
            return changes[1]

    def internal_names(self) -> set[str]:
        """Return the names in Spark's catalog that are not tables of a user, such as the sources behind views."""
        of_views = {entry.name[1] for entry in self if view_hints.base_of(entry.name) is not None}
        return self._permanent.internal_names() | self.stream_views | set(self.names_of_calls.values()) | of_views

    def _get(self, name: TableName) -> CatalogTable | None:
        """Return the permanent table with a name, or the temporary one if the name has no database."""
        return (self._permanent.tables if name[0] else self._temporary).get(name)

    def _put(self, entry: CatalogTable, old: CatalogTable | None) -> CatalogTable:
        """Replace ``old`` with ``entry`` in Spark's catalog and in the store; restore ``old`` if that fails."""
        self._spark_catalog.put(entry, old)
        try:
            self._sync.save(entry)
        except BaseException:
            self._spark_catalog.remove(entry)
            if old is not None:
                self._spark_catalog.put(old, None)
            raise
        if entry.table.temporary:
            self._temporary[entry.name] = entry
        else:
            self._permanent.put(entry)
        return entry

    @contextlib.contextmanager
    def _write_lock(self, name: TableName) -> Iterator[None]:
        """Lock the tables of the application and, for a permanent table, the store; apply the store's changes first."""
        store = self._permanent.store if name[0] else None
        with self._permanent.lock, store.lock() if store is not None else contextlib.nullcontext():
            if store is not None:
                self.refresh()
            yield

    def _target_name(self, table: Table) -> TableName:
        """Return the name under which a declared table is created."""
        *database, name = (part.lower() for part in table.name)
        if table.temporary:
            if database:
                full_name = ".".join(table.name)
                raise StatementError(
                    f"CREATE TEMPORARY TABLE {full_name}: a temporary table has no database. Remove "
                    f"'{'.'.join(table.name[:-1])}'.",
                    table=full_name,
                )
            return ("", name)
        target = (database[-1] if database else self._spark_catalog.current_database(), name)
        for part in target:
            if not _VALID_NAME.fullmatch(part):
                raise StatementError(
                    f"CREATE TABLE {'.'.join(target)}: invalid name '{part}': Spark allows only letters a to z, digits "
                    "and underscores. Choose another name for the table, not for its topic, or CREATE TEMPORARY TABLE "
                    f"{quote(name)}, which may have any name.",
                    table=".".join(target),
                )
        return target

    def _validate(self, table: Table) -> Definition:
        return replace(validate_table(table), accumulator_id=self._accumulator_id)

    def _make_table(self, name: TableName, table: Table) -> CatalogTable:
        definition = self._validate(replace(table, name=tuple(filter(None, name)), if_not_exists=False))
        database, table_name = name
        private_database, source_catalog = self._permanent.private_database, self._spark_catalog.source_catalog()
        if private_database is not None:
            self._check_unique(name)
        if not database:  # the storage name differs, because a permanent table may have the same name
            storage_database = private_database or self._spark_catalog.current_database()
            storage_name = self._permanent.free_storage_name(
                (storage_database, _valid_name(table_name) + _TEMPORARY_SUFFIX)
            )
            return make_catalog_table(name, definition, storage_name, storage_name, source_catalog)
        is_view = table.computed_columns or private_database is not None or source_catalog != SESSION_CATALOG
        storage_name = private_database or database, table_name + (VIEW_SOURCE_SUFFIX if is_view else "")
        return make_catalog_table(name, definition, storage_name, name, source_catalog)

    def _check_unique(self, name: TableName) -> None:
        """Check that no table of another database has the same name: their temporary views would be the same."""
        for entry in self:
            if entry.name[1] == name[1] and entry.name != name:
                raise StatementError(
                    f"CREATE TABLE {'.'.join(filter(None, name))}: table '{entry.definition.name}' has the same name. "
                    "Over Spark Connect, tables are temporary views, which have no database. Choose another name.",
                    table=entry.definition.name,
                )


def _with_hint(entry: CatalogTable, options: Mapping[str, str]) -> Table:
    table = replace(entry.table, options=view_hints.merge_options(entry.table, options))
    try:
        check_inherited_secrets(entry.table.options, table.options, options)
    except MissingOptionError as e:
        raise e.with_prefix(f"OPTIONS hint of table '{entry.definition.name}': ") from None
    return table


def _valid_name(name: str) -> str:
    """Return a name that Spark allows for a permanent table, made from that of a temporary one."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
