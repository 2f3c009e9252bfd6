"""Whose a checkpoint is: another query under a default name must not go on from offsets that are not its own."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError
from kafka_sql.runtime.spark_context import spark_context
from kafka_sql.sql.recognize import lexer

_FILE = ".kafka_sql-query"  # in the checkpoint, where Spark does not look
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_NOT_IN_A_NAME = re.compile(r"[/\\\x00-\x1f\x7f]|(?<!.)\.+", re.DOTALL)
_LOCAL = re.compile(r"file:(?://)?(/(?!/).*)")  # Hadoop takes a path as it is written, %20 and # included


def folder_name(table: str) -> str:
    """A table's name as a part of a path: a temporary table's may have any character, and stays one folder."""
    return _NOT_IN_A_NAME.sub(lambda found: "".join(f"%{ord(c):02X}" for c in found[0]), table)


def query_digest(text: str) -> str:
    """What tells a query from another one: blanks, comments and the case of words do not count, hints do."""
    words = (lexeme.upper or lexeme.text for lexeme in lexer.tokenize_spark_with_hints(text))
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def check_owner(folder: Path, sink: str, name: str, text: str) -> None:
    """Refuse a query whose checkpoint holds the offsets of another one.

    Args:
        folder: the checkpoint.
        sink: the table it writes.
        name: of the query and the checkpoint.
        text: the query.

    Raises:
        StatementError: it is another query's.
    """
    kept, offsets = folder / _FILE, folder / "offsets"
    if not (kept.is_file() and offsets.is_dir() and any(offsets.iterdir())):
        return
    if kept.read_text() != query_digest(text):
        raise StatementError(
            f"INSERT INTO '{sink}': the checkpoint '{folder}' is that of another query, and this one would go on where "
            "that one stopped. Give it a name, and with it a checkpoint, of its own: SET 'pipeline.name' = '...'. If "
            f"it is the same query, changed, and is to go on: SET 'pipeline.name' = '{name}'."
        )


def record_owner(folder: Path, text: str) -> None:
    """Note whose the checkpoint is."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FILE).write_text(query_digest(text))


def local_folder(spark: SparkSession, location: str) -> Path | None:
    """A checkpoint's folder, where it is one of the driver's own file system; None elsewhere, as behind Connect."""
    context = spark_context(spark)
    if context is None:
        return None
    if not _SCHEME.match(location):
        location = context._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///").rstrip("/") + location
        # a relative path is left alone: Hadoop has its own idea of where it starts
    local = _LOCAL.fullmatch(location)
    return Path(local[1]) if local else None
