"""Replace methods of sessions, catalogs and readers of streams, and work around defects of PySpark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import Table

from kafka_sql.spark.context import is_connect
from kafka_sql.spark.internal import Internal, PythonName
from kafka_sql.spark.patch import Function, Patch

_SQL = ("sqlQuery", "args")
_SESSION_SQL: Final = Patch(
    "pyspark.sql.session.SparkSession.sql",
    "sql() of an enabled session executes Flink's statements",
    "Flink's statements are syntax errors",
    parameters=_SQL,
)
_INSTALL: Final = Patch(
    "pyspark.sql.session.SparkSession.sql",
    "install() enables each session on its first sql()",
    "the sessions of dbt and of other programs are not enabled",
    parameters=_SQL,
)
_NOT_ENABLED: Final = tuple(
    Patch(
        f"pyspark.sql.{module}.SparkSession.sql",
        "sql() of a session that is not enabled says so if the statement is Flink's; the error may lack the statement",
        "the error is Spark's syntax error",
        parameters=_SQL,
    )
    for module in ("session", "connect.session")
)
_STOP: Final = Patch(
    "pyspark.sql.connect.session.SparkSession.stop",
    "tables of a Connect session are dropped from the catalog that it shares",
    "they remain in the catalog until another session declares a table of their name",
)
_LISTING = ("a Kafka table that is a view is listed as a table, without the object behind it", "it is listed as a view")
_CATALOG: Final = (
    Patch("pyspark.sql.catalog.Catalog.listTables", *_LISTING, parameters=("dbName", "pattern")),
    Patch("pyspark.sql.catalog.Catalog.getTable", *_LISTING, parameters=("tableName",)),
)
_READ_STREAM: Final = tuple(
    Patch(
        f"pyspark.sql.{module}.readwriter.DataStreamReader.table",
        "readStream.table() reads a table with its computed columns and watermark",
        "it fails, or the columns are missing; STREAM in SQL works",
        parameters=("tableName",),
    )
    for module in ("streaming", "connect.streaming")
)
_ACCUMULATORS: Final = Patch(
    "pyspark.sql.connect.client.core.SparkConnectClient.execute_command_as_iterator",
    "Connect clients that wait for events of a pipeline or a listener fail on accumulators of data sources",
    "they fail with UNKNOWN_RESPONSE",
    until="SPARK-59135",
    parameters=("command", "observations"),
)
INTERNALS: Final[tuple[Internal, ...]] = (
    _SESSION_SQL,
    _INSTALL,
    *_NOT_ENABLED,
    _STOP,
    *_CATALOG,
    *_READ_STREAM,
    PythonName(
        "pyspark.sql.streaming.readwriter.DataStreamReader._spark",
        "readStream.table() needs the reader's session",
        "readStream.table() fails with an AttributeError",
    ),
    PythonName(
        "pyspark.sql.connect.streaming.readwriter.DataStreamReader._client",
        "readStream.table() needs the reader's session, which Connect calls a client",
        "readStream.table() fails with an AttributeError",
    ),
    _ACCUMULATORS,
    PythonName(
        "pyspark.sql.connect.client.core.SparkConnectClient._execute_and_fetch_as_iterator",
        _ACCUMULATORS.why,
        _ACCUMULATORS.if_gone,
        until=_ACCUMULATORS.until,
    ),
)


def patch_sql(spark: SparkSession, execute: Callable[..., DataFrame]) -> None:
    """Replace ``sql()`` of one session."""
    _SESSION_SQL.apply(lambda _, *args, **kwargs: execute(*args, **kwargs), spark)


def spark_sql(spark: SparkSession) -> Callable[..., DataFrame]:
    """Return ``sql()`` of a session before ``patch_sql``; another package's patch stays in effect."""
    patched = spark.__dict__.get("sql")
    if patched is not None:
        return patched  # type: ignore[no-any-return]
    method: Callable[..., DataFrame] = _INSTALL.original(type(spark).sql).__get__(spark)
    return method


def patch_sql_of_all_sessions(enable: Callable[[SparkSession], object]) -> None:
    """Enable each classic session on its first ``sql()``.

    Args:
        enable: makes ``sql`` an attribute of the session, which hides the method of its class.
    """

    def sql(_: Function, self: SparkSession, *args: Any, **kwargs: Any) -> DataFrame:
        enable(self)
        return self.sql(*args, **kwargs)

    _INSTALL.apply(sql)


def patch_syntax_errors(spark: SparkSession, explain: Callable[[str, ParseException], Exception | None]) -> None:
    """Replace syntax errors of sessions that are not enabled, of the session's type.

    Args:
        explain: returns the exception to raise for a statement's error; None for Spark's own.
    """

    def sql(original: Function, self: SparkSession, sqlQuery: str, *args: Any, **kwargs: Any) -> DataFrame:
        try:
            rows: DataFrame = original(self, sqlQuery, *args, **kwargs)
        except ParseException as e:
            error = explain(sqlQuery, e)
            if error is None:
                raise
            raise error from None
        return rows

    classic, connect = _NOT_ENABLED
    (connect if is_connect(spark) else classic).apply(sql)


def patch_stop(spark: SparkSession, before: Callable[[], None]) -> None:
    """Call a function when a session is about to stop."""

    def stop(original: Function) -> None:
        before()
        original()

    _STOP.apply(stop, spark)


def patch_catalog(spark: SparkSession, show: Callable[[list[Table]], list[Table]]) -> None:
    """Replace ``listTables()`` and ``getTable()`` of the session's catalog, which Spark keeps for the session.

    Args:
        show: returns the tables to list in place of those of Spark's catalog.
    """

    def get_table(original: Function, *args: Any, **kwargs: Any) -> Table:
        table: Table = original(*args, **kwargs)
        return next(iter(show([table])), table)

    list_patch, get_patch = _CATALOG
    list_patch.apply(lambda original, *args, **kwargs: show(original(*args, **kwargs)), spark.catalog)
    get_patch.apply(get_table, spark.catalog)


def patch_read_stream(spark: SparkSession, read: Callable[[SparkSession, str], DataFrame | None]) -> None:
    """Replace ``readStream.table()`` of this process, of the session's type.

    Args:
        read: reads a table as a stream; returns None for a table that Spark reads.
    """

    def table(original: Function, self: Any, tableName: str) -> DataFrame:
        rows = read(self._spark if hasattr(self, "_spark") else self._client, tableName)
        return original(self, tableName) if rows is None else rows

    classic, connect = _READ_STREAM
    (connect if is_connect(spark) else classic).apply(table)


def ignore_accumulators(spark: SparkSession) -> None:
    """Make Connect clients ignore accumulators of Python workers among the responses to a command.

    Python data sources send empty accumulators. A client that waits for events of a pipeline or a query listener fails
    on them as an unknown response (SPARK-59135, in Spark 4.3.0).
    """
    if is_connect(spark):
        _ACCUMULATORS.apply(lambda original, self, *args, **kwargs: original(_Client(self), *args, **kwargs))


class _Client:
    """A Connect client without the accumulators among its responses."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def _execute_and_fetch_as_iterator(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        responses = self._client._execute_and_fetch_as_iterator(*args, **kwargs)
        return (r for r in responses if getattr(r, "name", None) != "__python_accumulator__")
