"""The tables of one session: declared with Flink's DDL, stored in Spark's own catalog.

A table is ``CREATE TABLE t USING kafka.t`` there, so that all of Spark works with it. Where it has computed columns,
or is temporary, the data source stands under a second name and ``t`` is a view over it.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as with_fields

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.apart import apart
from kafka_sql.catalog.entry import Entry, Name, create_source, create_view, dotted, make_entry
from kafka_sql.catalog.folder import Folder
from kafka_sql.catalog.lasting import Lasting
from kafka_sql.catalog.occupants import Occupant, occupant
from kafka_sql.catalog.provider import KafkaTable
from kafka_sql.catalog.register import register
from kafka_sql.definition import define
from kafka_sql.errors import KafkaSqlError, StatementError, TableExistsError, UnsupportedSqlError
from kafka_sql.table import Table

__all__ = ["Entry", "Tables"]

_SPARKS_NAME = re.compile(r"\w+", re.ASCII)
_LOG = logging.getLogger("kafka_sql.catalog")
_HIDDEN, _TEMPORARY, _HINTED = "__kafka", "__kafka_temporary", "__kafka_hinted"  # endings of hidden sources


class Tables:
    """The session's tables by name: its temporary ones, and the lasting ones of the application."""

    def __init__(
        self,
        spark: SparkSession,
        plain: Callable[[str], DataFrame],
        lasting: Lasting,
        parse: Callable[[str], Table],
        render: Callable[[Table], str],
    ) -> None:
        """Start with the lasting tables that there are.

        Args:
            plain: Spark's own ``sql()``.
            parse, render: a statement to a table, and back with its secrets, for the folder.
        """
        self.plain = apart(spark, plain)
        self._spark, self._lasting = spark, lasting
        self._parse, self._render = parse, render
        self._temporary: dict[Name, Entry] = {}
        self._hinted: dict[tuple[Name, frozenset[tuple[str, str]]], tuple[Entry, Entry]] = {}
        self._registered: dict[str, type[KafkaTable]] = {}
        self._version = 0
        self.refresh()

    def __iter__(self) -> Iterator[Entry]:
        """The tables; the temporary ones first, as they hide the others."""
        return itertools.chain(self._temporary.values(), self._lasting)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._temporary or self._lasting.entries)

    def attach(self, folder: Folder) -> None:
        """Keep the lasting tables in a folder, and have those that it holds.

        Raises:
            InvalidOptionError: they are kept in another one.
        """
        self._lasting.attach(folder)
        with folder.lock():
            statements = folder.read()
            for entry in self._lasting:
                if entry.name not in statements:
                    self._keep(entry)
            self._load(folder)
        self.refresh()

    def refresh(self) -> None:
        """See what other sessions and the folder's other users have declared. Costs microseconds if nothing was."""
        folder = self._lasting.folder
        if folder is not None and folder.changed():
            self._load(folder)
        if self._version != self._lasting.version:
            for entry in self._lasting:
                self._register(entry)
            self._version = self._lasting.version

    def find(self, name: tuple[str, ...]) -> Entry | None:
        """The table that ``name`` means here; a temporary one comes first, as in Spark."""
        parts = tuple(p.lower() for p in name)
        if parts[:1] == ("spark_catalog",) and len(parts) == 3:
            parts = parts[1:]
        if len(parts) == 1:
            temporary = self._temporary.get(("", parts[0]))
            return temporary or self._lasting.entries.get((self._database(), parts[0]))
        return self._lasting.entries.get((parts[0], parts[1])) if len(parts) == 2 else None

    def create(self, table: Table, replace: bool = False) -> None:
        """Check a declaration and make it a table of Spark's catalog.

        Raises:
            OptionError, SchemaError: the declaration is wrong; nothing is changed.
            TableExistsError: the name is taken, and the statement says neither IF NOT EXISTS nor OR REPLACE.
        """
        name = self._name(table)
        with self._writing(name):
            old = self._entries(name).get(name)
            try:
                if old is not None and not replace:
                    raise TableExistsError(
                        f"Table '{old.definition.name}' exists already. DROP TABLE it first, or say "
                        "CREATE TABLE IF NOT EXISTS."
                    )
                self._put(self._entry(name, table), old)
            except TableExistsError:
                if not table.if_not_exists:
                    raise

    def alter(self, entry: Entry, table: Table) -> None:
        """Give a table another declaration; its name stays.

        Raises:
            OptionError, SchemaError: the declaration is wrong; nothing is changed.
        """
        with self._writing(entry.name):
            self._put(self._entry(entry.name, table), entry)

    def rename(self, entry: Entry, name: tuple[str, ...]) -> None:
        """Give a table another name.

        Raises:
            UnsupportedSqlError: a temporary table cannot be renamed.
            TableExistsError: the name is taken.
        """
        if entry.table.temporary:
            raise UnsupportedSqlError(f"ALTER TABLE {entry.definition.name} RENAME: a temporary table keeps its name.")
        table = with_fields(entry.table, name=name if len(name) > 1 else (entry.name[0], *name))
        self.create(with_fields(table, if_not_exists=False))
        self._drop(entry)

    def drop(self, name: tuple[str, ...], temporary: bool = False) -> bool:
        """Drop a table; whether there was one."""
        entry = self.find(name)
        if entry is None or (temporary and not entry.table.temporary):
            return False
        self._drop(entry)
        return True

    def hinted(self, entry: Entry, options: Mapping[str, str]) -> Entry:
        """The same table with other options laid over its own, as ``/*+ OPTIONS(...) */`` asks for.

        Raises:
            OptionError: the options are wrong.
        """
        key = entry.name, frozenset(options.items())
        made_for, found = self._hinted.get(key, (None, None))
        if found is not None:
            if made_for is entry:
                return found
            self._drop_source(found)  # the table has been altered since
        table = with_fields(entry.table, options={**entry.table.options, **options})
        place = self._lasting.free_place((entry.place[0], entry.name[1] + _HINTED))
        hinted = make_entry(entry.name, define(table), place, known_as=place)
        self._register(hinted)
        self._create_source(hinted)
        self._hinted[key] = entry, hinted
        return hinted

    def hidden(self) -> set[str]:
        """Names that stand in Spark's catalog and are no user's tables."""
        return self._lasting.hidden()

    def _register(self, entry: Entry) -> None:
        if self._registered.get(entry.provider) is not entry.kind:  # Spark warns of what is registered again
            register(self._spark, entry.kind)
            self._registered[entry.provider] = entry.kind

    def _put(self, entry: Entry, old: Entry | None) -> None:
        """Make Spark's catalog and the folder hold the entry instead of the old one; all or nothing."""
        self._register(entry)
        placed = False
        try:
            if old is not None:
                self._remove(old)
            self._place(entry)
            placed = True
            self._keep(entry)
        except Exception:
            if placed:
                self._remove(entry)
            if old is not None:
                self._register(old)
                self._place(old)
            raise
        if entry.table.temporary:
            self._temporary[entry.name] = entry
        else:
            self._lasting.put(entry)

    def _keep(self, entry: Entry) -> None:
        """Write the entry into the folder, unless it came from there."""
        folder, statement = self._lasting.folder, self._render(entry.table)
        if folder is None or entry.table.temporary or self._lasting.texts.get(entry.name) == statement:
            return
        folder.write(entry.name, statement)
        self._lasting.texts[entry.name] = statement

    def _place(self, entry: Entry) -> None:
        self._create_source(entry)
        if entry.behind_view:
            try:
                self._create(create_view(entry), entry.name)
            except Exception:
                self._drop_source(entry)
                raise

    def _create_source(self, entry: Entry) -> None:
        self._create(create_source(entry), entry.place)
        self._lasting.hold(entry.place)

    def _create(self, statement: str, name: Name) -> None:
        """Run a CREATE; where the name is taken by a Kafka table of a session that is gone, instead of that.

        Raises:
            TableExistsError: the name is taken by something else.
        """
        try:
            self.plain(statement)
        except AnalysisException as e:
            if not (e.getCondition() or "").endswith("TABLE_OR_VIEW_ALREADY_EXISTS"):
                raise
            found = Occupant.SPARK if self._lasting.holds(name) or not name[0] else self._occupant(name)
            if found is Occupant.SPARK:
                raise TableExistsError(
                    f"'{'.'.join(filter(None, name))}' exists already as {found.value}. DROP it first, or choose "
                    "another name."
                ) from e
            self.plain(f"DROP {found.value} {dotted(name)}")
            self.plain(statement)

    def _remove(self, entry: Entry) -> None:
        """Take a table out of Spark's catalog, as far as it is there."""
        if entry.behind_view:
            self.plain(f"DROP VIEW IF EXISTS {dotted(entry.name)}")
        self._drop_source(entry)

    def _drop_source(self, entry: Entry) -> None:
        self.plain(f"DROP TABLE IF EXISTS {entry.source}")
        self._lasting.leave(entry.place)

    def _drop(self, entry: Entry) -> None:
        with self._writing(entry.name):
            if entry.name not in self._entries(entry.name):
                return  # another session was faster
            self._remove(entry)
            for key in [k for k in self._hinted if k[0] == entry.name]:
                self._drop_source(self._hinted.pop(key)[1])
            if entry.table.temporary:
                del self._temporary[entry.name]
                return
            if self._lasting.folder is not None:
                self._lasting.folder.remove(entry.name)
            self._lasting.remove(entry.name)

    def _load(self, folder: Folder) -> None:
        """Make the tables those of the folder. A statement that cannot be carried out is left out with a warning."""
        statements = folder.read()
        for entry in self._lasting:
            if entry.name not in statements:
                self._remove(entry)
                self._lasting.remove(entry.name)
        for name, statement in statements.items():
            if self._lasting.texts.get(name) == statement:
                continue
            self._lasting.texts[name] = statement
            try:
                self.plain(f"CREATE DATABASE IF NOT EXISTS {dotted((name[0], ''))}")
                table = with_fields(self._parse(statement), name=name)
                self._put(self._entry(name, table), self._lasting.entries.get(name))
            except KafkaSqlError as e:
                _LOG.warning("Catalog folder '%s': table %s is left out: %s", folder.path, ".".join(name), e)

    @contextlib.contextmanager
    def _writing(self, name: Name) -> Iterator[None]:
        """The folder's lock around a change of a lasting table, and what others have written before it."""
        folder = self._lasting.folder
        if folder is None or not name[0]:
            yield
            return
        with folder.lock():
            self.refresh()
            yield

    def _entries(self, name: Name) -> Mapping[Name, Entry]:
        return self._lasting.entries if name[0] else self._temporary

    def _name(self, table: Table) -> Name:
        *database, name = (part.lower() for part in table.name)
        if table.temporary:
            return ("", name)
        found = (database[-1] if database else self._database(), name)
        for part in found:
            if not _SPARKS_NAME.fullmatch(part):
                raise StatementError(
                    f"CREATE TABLE {'.'.join(found)}: Spark takes names of letters a to z, digits and _ only, and "
                    f"'{part}' has others. The topic may have any name; a TEMPORARY TABLE, too."
                )
        return found

    def _entry(self, name: Name, table: Table) -> Entry:
        definition = define(with_fields(table, name=tuple(filter(None, name)), if_not_exists=False))
        database, short = name
        if not database:  # beside a lasting table of the same name
            place = self._lasting.free_place((self._database(), re.sub(r"\W", "_", short, flags=re.ASCII) + _TEMPORARY))
            return make_entry(name, definition, place, known_as=place)
        place = (database, short + (_HIDDEN if table.computed else ""))
        return make_entry(name, definition, place, known_as=name)

    def _occupant(self, name: Name) -> Occupant:
        return apart(self._spark, occupant)(self.plain, name, name[1] + _HIDDEN)

    def _database(self) -> str:
        return apart(self._spark, self._spark.catalog.currentDatabase)().lower()
