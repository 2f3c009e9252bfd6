"""Guard file-based tables (parquet, ORC, CSV, JSON ...) that Spark's streaming file sink writes.

The sink logs the files of each micro-batch in the folder ``_spark_metadata`` of the table, so that it writes each batch
once. If a table has a log, Spark reads only the files in it, and the sink ignores batches whose number is in it. So
rows of other INSERTs would be invisible, and the first batches of a second query would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.spark.context import is_connect
from kafka_sql.spark.hadoop import Folder
from kafka_sql.spark.session_catalog import refresh_table, table_location
from kafka_sql.sql.jobs.targets.spark_table import SparkTable

_LOG_FOLDER: Final = "_spark_metadata"
_OWNER_FILE: Final = ".kafka_sql-checkpoint"  # in the log's folder: the checkpoint of the query that writes the table
_STREAMED: Final = "_kafka_sql_streamed_files"  # attribute of a session: database and name of tables


class FileSinkLog:
    """The log of a table's streaming file sink. Needs a classic session."""

    def __init__(self, spark: SparkSession, location: str) -> None:
        """Find the log of the table whose folder is ``location``."""
        self._folder = Folder(spark, location, _LOG_FOLDER)

    @property
    def exists(self) -> bool:
        """Whether Spark reads the table by its log."""
        return self._folder.exists()

    def has_batches(self) -> bool:
        """Return whether a micro-batch was written."""
        return any(name.partition(".")[0].isdigit() for name in self._folder.names())

    def owner(self) -> str | None:
        """Return the checkpoint of the query that writes the table; None if no streaming INSERT has started."""
        return self._folder.read(_OWNER_FILE)

    def claim(self, checkpoint: str) -> bool:
        """Record the checkpoint of the first query that writes the table; return whether this query is the first."""
        if self.owner() is not None:
            return False
        # if two queries start at the same time, one fails
        self._folder.write(_OWNER_FILE, mask_user_info(checkpoint), overwrite=False)
        return True

    def release(self) -> None:
        """Delete what ``claim`` and Spark have written for a query that did not start."""
        self._folder.delete(_OWNER_FILE)
        if not self._folder.names():
            self._folder.delete()


def check_file_sink(spark: SparkSession, table: SparkTable, checkpoint: str, resumes: bool) -> None:
    """Check that no row is lost if a query writes a file-based table.

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
    if not log.exists:
        is_empty = spark.table(table.sql_name).isEmpty()
        refresh_table(spark, *table.parts[1:])  # Spark has cached that it has no files
        if not is_empty:
            raise _cannot_write(
                table,
                "the table has rows of other statements, which would become invisible, because Spark would read only "
                "the files in the stream's log",
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
        refresh_table(spark, database, name)


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
    if is_connect(spark) or len(name) > 2:
        return None
    return table_location(spark, name[0] if len(name) == 2 else None, name[-1])


def _cannot_write(table: SparkTable, reason: str) -> StatementError:
    return StatementError(
        f"INSERT INTO '{table.name}': {reason}. Write a new table, or use a table of Delta Lake or Iceberg, which "
        "several queries can write.",
        table=table.name,
    )
