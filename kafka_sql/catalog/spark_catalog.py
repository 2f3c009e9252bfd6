"""A session's tables in Spark: their classes registered, their names in Spark's own catalog.

Nothing is dropped but what this package made: a name may have been dropped and taken by a table of the user's since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.catalog_table import (
    OWNER,
    CatalogTable,
    TableName,
    create_table_statement,
    create_view_statement,
    quoted_name,
)
from kafka_sql.catalog.data_source import KafkaTable
from kafka_sql.catalog.sql_literals import like_pattern, qualified_name, string_literal
from kafka_sql.errors import StatementError, TableExistsError
from kafka_sql.runtime.spark_context import spark_context

HIDDEN = "__kafka"  # the end of a data source's name behind a view
_FIELD = r"^{}: (.*)$"
_OWNED = re.compile(rf"\b{re.escape(OWNER)}=([^,\]]*)")

_P = ParamSpec("_P")
_R = TypeVar("_R")


class SparkCatalog:
    """One session's side of Spark."""

    def __init__(self, spark: SparkSession, plain: Callable[[str], DataFrame], lasting: ApplicationTables) -> None:
        """Nothing is registered yet."""
        self.spark_sql = run_outside_pipeline(spark, plain)
        self._spark, self._lasting = spark, lasting
        self._registered: dict[str, type[KafkaTable]] = {}

    def register(self, entry: CatalogTable) -> None:
        """Make an entry's class known to the session."""
        if self._registered.get(entry.provider) is not entry.data_source:  # Spark warns of what is registered again
            register_data_source(self._spark, entry.data_source)
            self._registered[entry.provider] = entry.data_source

    def put(self, entry: CatalogTable, old: CatalogTable | None) -> None:
        """Make Spark's catalog hold the entry instead of the old one; all or nothing.

        Raises:
            TableExistsError: a name is taken by something else.
        """
        self.register(entry)
        try:
            if old is not None:
                self.remove(old)
            self._place(entry)
        except BaseException:
            if old is not None:
                self.register(old)
                self._place(old)
            raise

    def remove(self, entry: CatalogTable) -> None:
        """Take a table out of Spark's catalog, as far as it is there and this package's."""
        if entry.table.temporary:
            self.spark_sql(f"DROP VIEW IF EXISTS {quoted_name(entry.name)}")
        elif entry.is_view:
            found = find_existing(self.spark_sql, entry.name).get(entry.name[1])
            if found is not None and found.is_view and entry.sql_name in found.text:
                self.spark_sql(f"DROP VIEW IF EXISTS {quoted_name(entry.name)}")
        self.drop_source(entry)

    def create_source(self, entry: CatalogTable) -> None:
        """Make an entry's data source a table of Spark's."""
        self._create(create_table_statement(entry, self.application()), entry.storage_name)
        self._lasting.reserve(entry.storage_name)

    def drop_source(self, entry: CatalogTable) -> None:
        """Drop an entry's data source."""
        found = find_existing(self.spark_sql, entry.storage_name).get(entry.storage_name[1])
        if found is not None and found.owner is not None and found.provider == entry.provider:
            self.spark_sql(f"DROP TABLE IF EXISTS {entry.sql_name}")
        self._lasting.release(entry.storage_name)

    def has_temporary_view(self, name: str) -> bool:
        """Whether the session has a temporary view of a name, ours or another."""
        session = self._spark.__dict__.get("_jsparkSession")
        if session is not None:  # a statement that lists views takes as long as planning an INSERT
            return bool(session.sessionState().catalog().getTempView(name).isDefined())
        views = self.spark_sql(f"SHOW VIEWS LIKE {string_literal(like_pattern(name))}").collect()
        return any(view.isTemporary and view.viewName.lower() == name.lower() for view in views)

    def database(self) -> str:
        """The current database.

        Raises:
            StatementError: it is one of another catalog, which holds no Kafka tables.
        """
        catalog = self.catalog()
        if catalog != "spark_catalog":
            raise StatementError(
                f"Kafka tables stand in spark_catalog, and the current catalog is '{catalog}'. Say "
                "USE spark_catalog.default first."
            )
        return run_outside_pipeline(self._spark, self._spark.catalog.currentDatabase)().lower()

    def catalog(self) -> str:
        """The current catalog."""
        return run_outside_pipeline(self._spark, self._spark.catalog.currentCatalog)()

    def application(self) -> str:
        """The Spark application's id."""
        return str(self._spark.conf.get("spark.app.id", ""))

    def _place(self, entry: CatalogTable) -> None:
        self.create_source(entry)
        if entry.is_view:
            try:
                self._create(create_view_statement(entry), entry.name)
            except BaseException:
                self.drop_source(entry)
                raise

    def _create(self, statement: str, name: TableName) -> None:
        """Run a CREATE; where the name is a Kafka table's of an application that is gone, instead of that."""
        try:
            self.spark_sql(statement)
        except AnalysisException as e:
            if not (e.getCondition() or "").endswith("TABLE_OR_VIEW_ALREADY_EXISTS"):
                raise
            self._clear(name, e)
            self.spark_sql(statement)

    def _clear(self, name: TableName, cause: Exception) -> None:
        """Drop what another application left under a name: its declaration was lost, the name stayed.

        Raises:
            TableExistsError: it is something else.
        """
        shown = ".".join(filter(None, name))
        found = find_existing(self.spark_sql, name) if name[0] and not self._lasting.is_reserved(name) else {}
        there = found.get(name[1])
        hidden = found.get(name[1] + HIDDEN)
        behind = hidden if there is not None and there.is_view and f"`{name[1]}{HIDDEN}`" in there.text else None
        owner = behind.owner if behind is not None else there.owner if there is not None else None
        if there is None or owner is None:
            raise TableExistsError(
                f"'{shown}' exists already as a table or view of Spark's own. DROP it first, or choose another name."
            ) from cause
        stale = behind is not None and self._lasting.is_reserved((name[0], name[1] + HIDDEN))  # ours, made a moment ago
        if owner == self.application() and not stale:
            raise TableExistsError(
                f"Table '{shown}' exists already: another client of this Spark server has declared it. Choose another "
                "name or another database."
            ) from cause
        self.spark_sql(f"DROP {'VIEW' if there.is_view else 'TABLE'} {quoted_name(name)}")


@dataclass(frozen=True)
class ExistingObject:
    """An entry of Spark's catalog.

    Attributes:
        view: whether it is a view.
        provider: a table's data source, ``kafka.orders``.
        owner: the application that made it, where it is a table of this package; None where it is not.
        text: a view's query.
    """

    is_view: bool
    provider: str
    owner: str | None
    text: str


def find_existing(plain: Callable[[str], DataFrame], name: TableName) -> dict[str, ExistingObject]:
    """What stands under a name, and under those that begin with it (the data source behind a view does)."""
    database, table = name
    like = string_literal(like_pattern(table) + "*")
    rows = plain(f"SHOW TABLE EXTENDED IN {qualified_name(('spark_catalog', database))} LIKE {like}").collect()
    return {row.tableName.lower(): _read(row.information) for row in rows if not row.isTemporary}


def _read(information: str) -> ExistingObject:
    provider, owned = _field("Provider", information), _OWNED.search(_field("Table Properties", information))
    owner = owned[1] if owned and provider.startswith("kafka.") else None
    return ExistingObject(_field("Type", information) == "VIEW", provider, owner, _field("View Text", information))


def _field(label: str, information: str) -> str:
    """The first line of that label: a comment, which could hold another, stands after them all."""
    found = re.search(_FIELD.format(label), information, re.MULTILINE)
    return found[1] if found else ""


@contextmanager
def active_session(spark: SparkSession) -> Iterator[None]:
    """Let a session be the one that is active on this thread, in the block: a thread starts with none."""
    session = spark.__dict__.get("_jsparkSession")
    if session is None:  # Connect: the server knows the session
        yield
        return
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(session)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def register_data_source(spark: SparkSession, kind: type[DataSource]) -> None:
    """Register a class in a session, in the place of one of that name. Spark refuses what another session has."""
    with active_session(spark):
        spark.dataSource.register(kind)


def run_outside_pipeline(spark: SparkSession, function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, which also works where a Declarative Pipeline loads its Python files.

    A pipeline marks its thread's requests to the Connect server, which then refuses CREATE TABLE and whatever has a
    result: all is to be part of the pipeline's graph. The tables of topics are not, so they are declared and looked up
    from a thread that has no mark.
    """
    if spark_context(spark) is not None:  # classic: no server, no mark
        return function

    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(function, *args, **kwargs).result()

    return called
