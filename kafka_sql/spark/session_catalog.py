"""Look up tables and views in Spark's session catalog without loading them, and copy sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.spark.internal import Internal, JavaClass, Text
from kafka_sql.spark.jvm import JavaObject, from_java_dataset, java_context, java_session, jvm, session_state

SESSION_CATALOG: Final = "spark_catalog"  # its name in Spark

_CATALOG = "org.apache.spark.sql.catalyst.catalog"
_LOOK_UP = "CREATE and DROP recognize objects of this package, whose data source may not be registered"
_FAILS = "CREATE TABLE and INSERT into tables of Spark fail with an error of Py4J"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        f"{_CATALOG}.SessionCatalog",
        _LOOK_UP,
        _FAILS,
        members=(
            "listTables/2",
            "getTempView/1",
            "isTempView/1",
            "tableExists/1",
            "refreshTable/1",
            "getTempViewOrPermanentTableMetadata/1",
        ),
    ),
    JavaClass("org.apache.spark.sql.catalyst.TableIdentifier", _LOOK_UP, _FAILS, members=("new/2", "table/0")),
    JavaClass(
        f"{_CATALOG}.CatalogTable",
        _LOOK_UP,
        _FAILS,
        members=("tableType/0", "provider/0", "properties/0", "viewText/0", "storage/0"),
    ),
    JavaClass(f"{_CATALOG}.CatalogStorageFormat", _LOOK_UP, _FAILS, members=("locationUri/0",)),
    JavaClass(
        "org.apache.spark.sql.classic.SparkSession",
        "views are created with Spark's own session catalog",
        "tables with computed columns fail beside Iceberg's or Delta's session catalog",
        members=("cloneSession/0", "conf/0", "sql/1"),
    ),
    JavaClass(
        "org.apache.spark.SparkContext",
        "sessions that are created later have the catalog of Kafka tables, too",
        "tables fail beside Iceberg's or Delta's session catalog",
        members=("conf/0",),
    ),
    Text(
        "View Text",
        f"{_LOOK_UP}. Clients of Spark Connect read SHOW TABLE EXTENDED",
        "CREATE and DROP over Spark Connect fail with an AssertionError",
        source=f"{_CATALOG}.CatalogTable",
    ),
)


@dataclass(frozen=True)
class CatalogObject:
    """A table or view in Spark's catalog."""

    is_view: bool  # whether it is a view
    provider: str  # a table's provider, such as ``kafka.orders``
    owner: str | None  # the table property that the caller asked for, or None
    text: str  # a view's query


def find_objects(
    spark: SparkSession, spark_sql: Callable[[str], DataFrame], database: str, pattern: str, owner_property: str
) -> dict[str, CatalogObject]:
    """Return the tables and views of a database in Spark's own session catalog, by their names in lower case.

    Args:
        pattern: a pattern of SHOW ... LIKE.

    Raises:
        AnalysisException: the database does not exist.
    """
    if java_session(spark) is not None:
        catalog = session_state(spark).catalog()
        identifiers = _elements(catalog.listTables(database, pattern))
        permanent = [identifier for identifier in identifiers if identifier.database().isDefined()]
        return {
            str(identifier.table()).lower(): _object(
                catalog.getTempViewOrPermanentTableMetadata(identifier), owner_property
            )
            for identifier in permanent
        }
    quoted = "`" + database.replace("`", "``") + "`"
    rows = spark_sql(f"SHOW TABLE EXTENDED IN spark_catalog.{quoted} LIKE '{pattern}'").collect()
    tables = [row for row in rows if not row.isTemporary]
    return {row.tableName.lower(): _parse_object(row.information, owner_property) for row in tables}


def _object(table: JavaObject, owner_property: str) -> CatalogObject:
    is_view, owner = str(table.tableType().name()) == "VIEW", _text(table.properties().get(owner_property))
    return CatalogObject(is_view, _text(table.provider()), owner or None, _text(table.viewText()))


def _parse_object(information: str, owner_property: str) -> CatalogObject:
    """Parse a table of SHOW TABLE EXTENDED. Comments, which could contain the same labels, come last."""
    fields: dict[str, str] = {}
    for line in information.splitlines():
        label, separator, value = line.partition(": ")
        if separator:
            fields.setdefault(label, value)
    assert "Type" in fields, f"SHOW TABLE EXTENDED has no Type: {information}"
    properties = fields.get("Table Properties", "[]")[1:-1].split(", ")
    owner = next((p.partition("=")[2] for p in properties if p.startswith(f"{owner_property}=")), None)
    return CatalogObject(fields["Type"] == "VIEW", fields.get("Provider", ""), owner, fields.get("View Text", ""))


def has_temporary_view(spark: SparkSession, name: str) -> bool:
    """Return whether a classic session has a temporary view of that name. SHOW VIEWS takes as long as an INSERT."""
    return bool(session_state(spark).catalog().getTempView(name).isDefined())


def table_location(spark: SparkSession, database: str | None, name: str) -> str | None:
    """Return the folder of a table of files in Spark's own session catalog; None for other tables and views."""
    catalog, identifier = session_state(spark).catalog(), _identifier(spark, database, name)
    if catalog.isTempView(identifier) or not catalog.tableExists(identifier):
        return None
    location = catalog.getTempViewOrPermanentTableMetadata(identifier).storage().locationUri()
    return str(location.get().toString()) if location.isDefined() else None


def refresh_table(spark: SparkSession, database: str | None, name: str) -> None:
    """Forget what a session has cached about a table."""
    session_state(spark).catalog().refreshTable(_identifier(spark, database, name))


def _identifier(spark: SparkSession, database: str | None, name: str) -> JavaObject:
    packages = jvm(spark)
    return packages.org.apache.spark.sql.catalyst.TableIdentifier(name, packages.scala.Option.apply(database))


def set_for_application(spark: SparkSession, key: str, value: str) -> None:
    """Set a setting of a classic session and of the sessions that its application creates later."""
    java_context(spark).conf().set(key, value)
    spark.conf.set(key, value)


def sql_of_copy(spark: SparkSession, settings: Mapping[str, str]) -> Callable[[str], DataFrame]:
    """Return a function that executes statements with other settings, in a copy of a classic session."""
    session: Any = java_session(spark)
    copy = session.cloneSession()
    for key, value in settings.items():
        copy.conf().set(key, value)
    return lambda statement: from_java_dataset(copy.sql(statement), spark)


def _elements(sequence: JavaObject) -> Iterable[JavaObject]:
    return (sequence.apply(i) for i in range(sequence.size()))


def _text(option: JavaObject) -> str:
    return str(option.get()) if option.isDefined() else ""
