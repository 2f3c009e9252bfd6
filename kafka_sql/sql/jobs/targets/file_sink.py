"""Guard file-based tables (parquet, ORC, CSV, JSON ...) that Spark's streaming file sink writes.

The sink logs the files of each micro-batch in the folder ``_spark_metadata`` of the table, so that it writes each batch
once. If a table has a log, Spark reads only the files in it, and the sink ignores batches whose number is in it. So
rows of other INSERTs would be invisible, and the first batches of a second query would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.spark.context import spark_context
from kafka_sql.sql.jobs.targets.spark_table import SparkTable

_LOG_FOLDER: Final = "_spark_metadata"
_OWNER_FILE: Final = ".kafka_sql-checkpoint"  # in the log's folder: the checkpoint of the query that writes the table
_STREAMED: Final = "_kafka_sql_streamed_files"  # attribute of a session: database and name of tables


class FileSinkLog:
    """The log of a table's streaming file sink. Needs a classic session."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        """Find the log of the table whose folder is ``location``."""
        context = spark_context(spark)
        assert context is not None
        jvm: Any = context._jvm
        self._path, self._read_text = jvm.org.apache.hadoop.fs.Path, jvm.org.apache.commons.io.IOUtils.toString
        self._folder = self._path(location, _LOG_FOLDER)
        self._file_system = self._folder.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    @property
    def exists(self) -> bool:
        """Whether Spark reads the table by its log."""
        return bool(self._file_system.exists(self._folder))

    def has_batches(self) -> bool:
        """Return whether a micro-batch was written."""
        names = [str(s.getPath().getName()) for s in self._file_system.listStatus(self._folder)] if self.exists else []
        return any(name.partition(".")[0].isdigit() for name in names)

    def owner(self) -> str | None:
        """Return the checkpoint of the query that writes the table; None if no streaming INSERT has started."""
        file = self._path(self._folder, _OWNER_FILE)
        if not self._file_system.exists(file):
            return None
        stream = self._file_system.open(file)
        text = str(self._read_text(stream, "UTF-8"))
        stream.close()
        return text

    def claim(self, checkpoint: str) -> bool:
        """Record the checkpoint of the first query that writes the table; return whether this query is the first."""
        if self.owner() is not None:
            return False
        file = self._path(self._folder, _OWNER_FILE)
        stream = self._file_system.create(file, False)  # if two queries start at the same time, one fails
        stream.write(bytearray(mask_user_info(checkpoint).encode()))
        stream.close()
        return True

    def release(self) -> None:
        """Delete what ``claim`` and Spark have written for a query that did not start."""
        self._file_system.delete(self._path(self._folder, _OWNER_FILE), False)
        if not self._file_system.listStatus(self._folder):
            self._file_system.delete(self._folder, False)


def check_file_sink(spark: SparkSession, table: SparkTable, checkpoint: str, resumes: bool) -> None:
    """Check that no row is lost if a query writes a file-based table.

    Args:
        checkpoint: the folder of the query's checkpoint.
        resumes: whether the checkpoint has offsets.

    Raises:
        StatementError: another query writes the table; the query has lost its checkpoint; or the table has rows of
            other statements.
    """
    log = FileSinkLog(spark, table.location)
    owner, has_batches = log.owner(), log.has_batches()
    if owner is not None and owner != mask_user_info(checkpoint):
        raise _cannot_write(
            table, f"the query with checkpoint '{owner}' writes the table, and its log of files supports only one query"
        )
    if has_batches and owner is None:
        raise _cannot_write(
            table, "another streaming query has written the table, and its log of files supports only one"
        )
    if has_batches and not resumes:
        raise _cannot_write(
            table,
            f"the query has written the table, but its checkpoint '{mask_user_info(checkpoint)}' is missing, so Spark "
            "would ignore its first micro-batches",
        )
    if not log.exists and not spark.table(table.sql_name).isEmpty():
        raise _cannot_write(
            table,
            "the table has rows of other statements, which would become invisible, because Spark would read only the "
            "files in the stream's log",
        )


@contextmanager
def claim_file_sink(spark: SparkSession, table: SparkTable, checkpoint: str) -> Iterator[None]:
    """Record that a query writes a file-based table. If the query does not start, others can still write the table."""
    log = FileSinkLog(spark, table.location)
    is_first = log.claim(checkpoint)
    try:
        yield
    except BaseException:
        if is_first:
            log.release()
        raise
    spark.__dict__.setdefault(_STREAMED, {})[table.parts[1:]] = None


def refresh_streamed_tables(spark: SparkSession) -> None:
    """Make the next statement read the current files of the tables that the session's jobs write.

    Spark caches the list of a table's files. INSERT refreshes it, but a stream does not.
    """
    for database, name in spark.__dict__.get(_STREAMED, ()):
        _session_catalog(spark).refreshTable(_table_identifier(spark, database, name))


def check_batch_insert(spark: SparkSession, name: tuple[str, ...]) -> None:
    """Check that the rows of a batch INSERT into a Spark table will be visible.

    Args:
        name: the name without Spark's own catalog.

    Raises:
        UnsupportedSqlError: a streaming file sink writes the table.
    """
    location = _location(spark, name)
    if location is not None and FileSinkLog(spark, location).exists:
        full_name = ".".join(name)
        raise UnsupportedSqlError(
            f"INSERT INTO '{full_name}': a streaming query writes this file-based table, and Spark reads only the "
            "files in the stream's log, so the rows of this INSERT would be invisible. Write these rows to another "
            "table, or use a table of Delta Lake or Iceberg for both.",
            table=full_name,
        )


def _location(spark: SparkSession, name: tuple[str, ...]) -> str | None:
    """Return the folder of a file-based table in Spark's own catalog; None for other tables."""
    if spark_context(spark) is None or len(name) > 2:
        return None
    catalog, identifier = (
        _session_catalog(spark),
        _table_identifier(spark, name[0] if len(name) == 2 else None, name[-1]),
    )
    if catalog.isTempView(identifier) or not catalog.tableExists(identifier):
        return None
    storage = catalog.getTempViewOrPermanentTableMetadata(identifier).storage()
    return str(storage.locationUri().get().toString()) if storage.locationUri().isDefined() else None


def _session_catalog(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().catalog()


def _table_identifier(spark: SparkSession, database: str | None, name: str) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.catalyst.TableIdentifier(name, jvm.scala.Option.apply(database))


def _cannot_write(table: SparkTable, reason: str) -> StatementError:
    return StatementError(
        f"INSERT INTO '{table.name}': {reason}. Write a new table, or use a table of Delta Lake or Iceberg, which "
        "several queries can write.",
        table=table.name,
    )
