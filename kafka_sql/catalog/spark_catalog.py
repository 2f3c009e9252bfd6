"""Create, find and drop a session's Kafka tables in Spark's catalog, and register their data source classes.

Only objects that this package created are dropped: a user may have dropped a Kafka table and reused its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.builtin_source import BuiltinTable
from kafka_sql.catalog.catalog_table import (
    OWNER,
    CatalogTable,
    create_table_statement,
    create_view_statement,
    quoted_name,
)
from kafka_sql.catalog.data_source import KafkaTable, has_time_type
from kafka_sql.catalog.file_store import TableName
from kafka_sql.catalog.source_catalog import (
    add_source_catalog,
    builtin_catalog_sql,
    find_source_catalog,
    uses_functions,
)
from kafka_sql.catalog.sql_literals import like_pattern, string_literal
from kafka_sql.catalog.storage_names import SUFFIX, add_storage_name, remove_storage_name
from kafka_sql.errors import SchemaError, StatementError, TableExistsError, UnsupportedSqlError
from kafka_sql.options.connector import COMPUTED_FALLBACK, SPARK
from kafka_sql.runtime.task import SESSION_TIME_ZONE
from kafka_sql.spark import session_catalog, session_settings
from kafka_sql.spark.context import is_connect, run_outside_pipeline
from kafka_sql.spark.data_sources import register_data_source
from kafka_sql.spark.jvm import is_classic
from kafka_sql.spark.session_catalog import SESSION_CATALOG, CatalogObject

VIEW_SOURCE_SUFFIX = SUFFIX  # view orders selects from data source orders__kafka
_TIME_TYPE = "spark.sql.timeType.enabled"


class SparkCatalog:
    """Spark's catalog as one session sees it. ``spark_sql`` is Spark's own ``sql()``, without Flink's statements."""

    def __init__(
        self, spark: SparkSession, spark_sql: Callable[[str], DataFrame], permanent: ApplicationTables
    ) -> None:
        self.spark_sql = run_outside_pipeline(spark, spark_sql)
        self._spark, self._permanent = spark, permanent
        self._registered: dict[str, type[KafkaTable] | type[BuiltinTable]] = {}
        self._time_zones: dict[str, str] = {}  # by provider, of data sources that depend on the session's time zone

    def add_functions(self) -> None:
        """Add the Java functions to the session; see ``add_source_catalog``."""
        add_source_catalog(self._spark, self.spark_sql)

    def register(self, entry: CatalogTable) -> None:
        """Register a table's data source class with the session.

        Raises:
            UnsupportedSqlError: see ``add_source_catalog``.
        """
        expressions = (column.expression for column in entry.table.computed_columns)
        if entry.source_catalog != SESSION_CATALOG or any(uses_functions(sql or "") for sql in expressions):
            self.add_functions()
        if self._registered.get(entry.provider) is not entry.data_source:  # Spark warns if a class is registered twice
            if issubclass(entry.data_source, KafkaTable) and entry.data_source.needs_time_zone:
                self._register_in_time_zone(entry.data_source, self._set_time_zone())
            else:
                register_data_source(self._spark, entry.data_source)
                self._time_zones.pop(entry.provider, None)
            self._registered[entry.provider] = entry.data_source

    def update_time_zone(self) -> None:
        """Register the data sources that depend on the session's time zone again if it has changed."""
        if not self._time_zones:
            return
        time_zone = self._set_time_zone()
        for provider, previous in list(self._time_zones.items()):
            data_source = self._registered[provider]
            if previous != time_zone and issubclass(data_source, KafkaTable):
                self._register_in_time_zone(data_source, time_zone)

    def _register_in_time_zone(self, data_source: type[KafkaTable], time_zone: str) -> None:
        register_data_source(self._spark, type("KafkaTable", (data_source,), {"time_zone": time_zone}))
        self._time_zones[data_source.name()] = time_zone

    def _set_time_zone(self) -> str:
        """Return the session's time zone.

        If it is the default, it is set to this value: Spark passes to tasks only settings that were set.
        """
        time_zone = self._spark.conf.get(SESSION_TIME_ZONE, None)
        if time_zone is None:
            time_zone = str(self._spark.conf.get(SESSION_TIME_ZONE))
            self._spark.conf.set(SESSION_TIME_ZONE, time_zone)
        return time_zone

    def put(self, entry: CatalogTable, old: CatalogTable | None) -> None:
        """Replace ``old`` with ``entry`` in Spark's catalog; restore ``old`` if that fails.

        Raises:
            TableExistsError: another object uses the name.
            UnsupportedSqlError, SchemaError, InvalidOptionError: the session cannot have the table.
        """
        if entry.name[0] and entry.is_temporary_view:
            self._check_not_hidden(entry)
        elif entry.name[0] and entry.source_catalog != SESSION_CATALOG:
            self._check_not_in_session_catalog(entry.name)
        self._check_time_type(entry)
        if entry.table.computed_columns:
            session_settings.check_settings_of_computed_columns(self._spark, entry.definition.name)
        self.register(entry)
        try:
            if old is not None:
                self.remove(old)
            self._create_objects(entry)
        except BaseException:
            if old is not None:
                self.register(old)
                self._create_objects(old)
            raise

    def remove(self, entry: CatalogTable) -> None:
        """Drop a table's objects from Spark's catalog, if they exist and belong to this package."""
        if entry.is_temporary_view:
            if self.has_temporary_view(entry.name[1]):  # without one, DROP VIEW would drop a permanent view
                self.spark_sql(f"DROP VIEW IF EXISTS {quoted_name(entry.view_name)}")
        elif entry.is_view:
            existing = self._find(entry.name).get(entry.name[1])
            if existing is not None and existing.is_view and entry.sql_name in existing.text:
                self._view_sql()(f"DROP VIEW IF EXISTS {quoted_name(entry.name)}")
        self.drop_source(entry)

    def create_source(self, entry: CatalogTable) -> None:
        """Create the table of a data source in Spark's catalog."""
        if entry.storage_name[0] == self._permanent.private_database:
            database = quoted_name((entry.storage_name[0], ""))
            self.spark_sql(f"CREATE DATABASE IF NOT EXISTS {database} COMMENT 'Kafka tables of a Spark Connect client'")
        self._create(create_table_statement(entry, self.application_id()), entry.storage_name, self.spark_sql)
        self._permanent.storage_names.add(entry.storage_name)
        add_storage_name(entry.storage_name, entry.name)

    def drop_source(self, entry: CatalogTable) -> None:
        """Drop the table of a data source from Spark's catalog."""
        existing = self._find(entry.storage_name).get(entry.storage_name[1])
        if existing is not None and existing.owner is not None and existing.provider == entry.provider:
            self.spark_sql(f"DROP TABLE IF EXISTS {quoted_name(entry.storage_name)}")
        self._permanent.storage_names.discard(entry.storage_name)
        self._permanent.view_settings.pop(entry.storage_name, None)
        remove_storage_name(entry.storage_name)

    def drop_private_database(self) -> None:
        """Drop the private database, if there is one; other clients never use it."""
        if self._permanent.private_database is not None:
            self.spark_sql(f"DROP DATABASE IF EXISTS {quoted_name((self._permanent.private_database, ''))} CASCADE")

    def has_temporary_view(self, name: str) -> bool:
        """Return whether the session has a temporary view of that name, of this package or another."""
        if is_classic(self._spark):
            return session_catalog.has_temporary_view(self._spark, name)
        statement = f"SHOW VIEWS IN spark_catalog.default LIKE {string_literal(like_pattern(name))}"
        views = run_outside_pipeline(self._spark, lambda: self.spark_sql(statement).collect())()
        return any(view.isTemporary and view.viewName.lower() == name.lower() for view in views)

    def current_database(self) -> str:
        """Return the current database; raise StatementError if the current catalog is not spark_catalog."""
        catalog = self.current_catalog()
        if catalog != SESSION_CATALOG:
            raise StatementError(
                f"Kafka tables are in catalog spark_catalog, but the current catalog is '{catalog}'. Run "
                "USE spark_catalog.default first."
            )
        return run_outside_pipeline(self._spark, self._spark.catalog.currentDatabase)().lower()

    def current_catalog(self) -> str:
        return run_outside_pipeline(self._spark, self._spark.catalog.currentCatalog)()

    def source_catalog(self) -> str:
        """Return the name of the catalog through which Spark reads and writes data sources."""
        return find_source_catalog(self._spark)

    def application_id(self) -> str:
        return str(self._spark.conf.get("spark.app.id", ""))

    def check_settings(self, entry: CatalogTable) -> None:
        """Check that the session's settings give a table's computed columns the values that they have in its view.

        Raises:
            InvalidOptionError: a setting has another value than computed columns need; or, if they are Spark's
                expressions, than at CREATE TABLE.
        """
        if entry.table.computed_columns:
            session_settings.check_settings_of_computed_columns(self._spark, entry.definition.name)
        at_creation = self._permanent.view_settings.get(entry.storage_name)
        if at_creation is not None:
            session_settings.check_same_settings(self._spark, at_creation, entry.definition.name)

    def _find(self, name: TableName) -> dict[str, CatalogObject]:
        """Return the tables and views whose names start with a name, such as a view and its data source.

        The keys are their names in lower case. Tables whose data source is not registered are included. The owner is
        that of tables of this package.
        """
        database, pattern = name[0], like_pattern(name[1]) + "*"
        found = session_catalog.find_objects(self._spark, self.spark_sql, database, pattern, OWNER)
        return {name: o if o.provider.startswith("kafka.") else replace(o, owner=None) for name, o in found.items()}

    def _create_objects(self, entry: CatalogTable) -> None:
        self.create_source(entry)
        if entry.is_view:
            try:
                sql = self.spark_sql if entry.is_temporary_view else self._view_sql()
                self._create(create_view_statement(entry), entry.view_name, sql)
                if entry.table.computed_columns and entry.definition.options.get(COMPUTED_FALLBACK) == SPARK:
                    self._permanent.view_settings[entry.storage_name] = session_settings.settings_kept_by_views(
                        self._spark
                    )
            except BaseException:
                self.drop_source(entry)
                raise

    def _view_sql(self) -> Callable[[str], DataFrame]:
        """Return a function that executes a statement about a permanent view."""
        if self.source_catalog() == SESSION_CATALOG or is_connect(self._spark):
            return self.spark_sql
        return builtin_catalog_sql(self._spark)

    def _create(self, statement: str, name: TableName, sql: Callable[[str], DataFrame]) -> None:
        """Run a CREATE; if the name belongs to a Kafka table of an ended application, drop that table first."""
        try:
            sql(statement)
        except AnalysisException as e:
            condition = e.getCondition() or ""
            if condition.startswith("INVALID_TEMP_OBJ_REFERENCE"):
                raise _temporary_function(name, e) from e
            if not condition.endswith("TABLE_OR_VIEW_ALREADY_EXISTS"):
                raise
            self._drop_stale(name, e)
            sql(statement)

    def _check_not_hidden(self, entry: CatalogTable) -> None:
        """Check that a table's temporary view would not hide a Spark table or view in the table's database."""
        objects = self._find(entry.name)
        existing, source = objects.get(entry.name[1]), objects.get(entry.name[1] + VIEW_SOURCE_SUFFIX)
        if existing is not None and (source if existing.is_view and source else existing).owner is None:
            raise _spark_table_exists(entry.name)

    def _check_not_in_session_catalog(self, name: TableName) -> None:
        """Check that the session catalog has no table of a name that Spark's own catalog does not list.

        For example, Iceberg's session catalog can store its tables elsewhere, and finds them first.
        """
        if self._spark.catalog.tableExists(quoted_name(name)) and name[1] not in self._find(name):
            raise _spark_table_exists(name)

    def _check_time_type(self, entry: CatalogTable) -> None:
        """Check that Spark's type TIME is enabled if a table has it.

        It is not enabled here, because it also changes how Spark reads other data, such as CSV, JSON and JDBC tables.
        """
        columns = [field.name for field in entry.data_source.spark_schema if has_time_type(field.dataType)]
        if columns and self._spark.conf.get(_TIME_TYPE) == "false":
            raise SchemaError(
                f"Column '{columns[0]}': Spark's type TIME is not enabled. SET {_TIME_TYPE} = true in each session "
                "that uses the table.",
                column=columns[0],
                table=entry.definition.name,
            )

    def _drop_stale(self, name: TableName, cause: Exception) -> None:
        """Drop an object of an application that has ended. Its declaration is lost; only the name is left."""
        full_name = ".".join(filter(None, name))
        objects = self._find(name) if name[0] and name not in self._permanent.storage_names else {}
        source_name = name[1] + VIEW_SOURCE_SUFFIX
        existing, source = objects.get(name[1]), None
        if existing is not None and existing.is_view and f"`{source_name}`" in existing.text:
            source = objects.get(source_name)
        table = source or existing  # a view has no owner, but its source has
        owner = table.owner if table is not None else None
        if existing is None or owner is None:
            raise _spark_table_exists(name) from cause
        # The source may be the new one that this statement has just created; the view is stale then.
        is_new_source = source is not None and (name[0], source_name) in self._permanent.storage_names
        if owner == self.application_id() and not is_new_source:
            raise TableExistsError(
                f"Table '{full_name}' already exists: another client of this Spark server created it. Choose another "
                "name or another database.",
                table=full_name,
            ) from cause
        if existing.is_view:
            self._view_sql()(f"DROP VIEW {quoted_name(name)}")
        else:
            self.spark_sql(f"DROP TABLE {quoted_name(name)}")


def _temporary_function(name: TableName, error: AnalysisException) -> UnsupportedSqlError:
    """Return the error for a permanent table that needs a function of the session."""
    function = (error.getMessageParameters() or {}).get("tempObjName", "").strip("`") or "a function"
    table = ".".join(name)
    return UnsupportedSqlError(
        f"CREATE TABLE {table}: a computed column calls {function}, which is a temporary function, and Spark's "
        "permanent views cannot call it. Use CREATE TEMPORARY TABLE, create the function in SQL with CREATE FUNCTION, "
        "or call it in a temporary view over the table.",
        table=table,
    )


def _spark_table_exists(name: TableName) -> TableExistsError:
    full_name = ".".join(filter(None, name))
    return TableExistsError(
        f"'{full_name}' already exists as a Spark table or view. DROP it first, or choose another name.",
        table=full_name,
    )
