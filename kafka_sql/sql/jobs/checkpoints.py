"""Record the query of each checkpoint: another query with the same default name must not resume from it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError
from kafka_sql.runtime.spark_context import spark_context
from kafka_sql.sql.recognize import lexer

_OWNER_FILE = ".kafka_sql-query"  # in the checkpoint; Spark ignores it
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_INVALID_IN_NAME = re.compile(r"[/\\\x00-\x1f\x7f]|(?<!.)\.+", re.DOTALL)  # slashes, control characters, leading dots
_LOCAL_URI = re.compile(r"file:(?://)?(/(?!/).*)")  # Hadoop does not decode a path: %20 and # are part of it


def folder_name(table: str) -> str:
    """Return a table's name as one path component; the name of a temporary table may contain any character."""
    return _INVALID_IN_NAME.sub(lambda match: "".join(f"%{ord(c):02X}" for c in match[0]), table)


def query_digest(text: str) -> str:
    """Return a digest that identifies a query: whitespace, comments and the case of words do not count, hints do."""
    words = (token.upper or token.text for token in lexer.tokenize_spark_with_hints(text))
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def check_owner(folder: Path, sink: str, name: str, text: str) -> None:
    """Check that a checkpoint does not belong to another query.

    Args:
        folder: the checkpoint.
        sink: the table that the query writes.
        name: the name of the query and the checkpoint.
        text: the query.

    Raises:
        StatementError: the checkpoint belongs to another query.
    """
    owner, offsets = folder / _OWNER_FILE, folder / "offsets"
    if not (owner.is_file() and offsets.is_dir() and any(offsets.iterdir())):
        return
    if owner.read_text() != query_digest(text):
        raise StatementError(
            f"INSERT INTO '{sink}': checkpoint '{folder}' belongs to another query, so this query would resume from "
            "that query's offsets. Set a unique 'pipeline.name' to start with a new checkpoint. If this is a new "
            f"version of the same query and should resume, SET 'pipeline.name' = '{name}'.",
            table=sink,
        )


def record_owner(folder: Path, text: str) -> None:
    """Record the query that a checkpoint belongs to."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _OWNER_FILE).write_text(query_digest(text))


def local_folder(spark: SparkSession, location: str) -> Path | None:
    """Return a checkpoint's folder if it is in the driver's file system; None otherwise, as for Connect sessions."""
    context = spark_context(spark)
    if context is None:
        return None
    if not _SCHEME.match(location):
        location = context._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///").rstrip("/") + location
        # a relative path does not match below: only Hadoop knows its working directory
    local = _LOCAL_URI.fullmatch(location)
    return Path(local[1]) if local else None
