"""Keep the fingerprint of a query in its checkpoint: a query that cannot resume from a checkpoint must not start."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.errors import CheckpointError, InvalidOptionError, MissingOptionError
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.spark.hadoop import Folder
from kafka_sql.spark.jvm import JAVA_EXCEPTIONS
from kafka_sql.sql.errors.spark_errors import error_message, mask_message
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.fingerprint import VERSION, Json

FINGERPRINT_FILE: Final = ".kafka_sql-fingerprint.json"  # in the checkpoint; Spark ignores it
_METADATA_FILE: Final = "metadata"  # in the checkpoint: Spark's id of the query
_INVALID_IN_NAME = re.compile(r"[/\\\x00-\x1f\x7f]|(?<!.)\.+", re.DOTALL)  # slashes, control characters, leading dots


def folder_name(table: str) -> str:
    """Return a table's name as one path component; the name of a temporary table may contain any character."""
    return _INVALID_IN_NAME.sub(lambda match: "".join(f"%{ord(c):02X}" for c in match[0]), table)


def locate(spark: SparkSession, sink: str, name: str | None = None) -> tuple[str, str]:
    """Return the name of a query and the folder of its checkpoint, ``<execution.checkpointing.dir>/<pipeline.name>``.

    Raises:
        MissingOptionError: no checkpoint folder is set.
    """
    root = settings.read(spark, settings.CHECKPOINT_DIR)
    if root is None:
        raise MissingOptionError(
            f"A streaming INSERT INTO '{sink}' needs a checkpoint folder: "
            f"SET '{settings.CHECKPOINT_DIR.key}' = '/path/to/checkpoints'.",
            option=settings.CHECKPOINT_DIR.key,
            table=sink,
        )
    name = name or settings.read(spark, settings.PIPELINE_NAME) or f"insert-into_{folder_name(sink)}"
    return name, f"{root.rstrip('/')}/{name}"


class Checkpoint:
    """The checkpoint of a query, in any file system that Hadoop supports. Needs a classic session.

    All methods raise InvalidOptionError if the folder cannot be used. ``location`` is its name for messages.
    """

    def __init__(self, spark: SparkSession, location: str, sink: str) -> None:
        """Find the file system. Does not access it."""
        self.location, self._sink = mask_user_info(location), sink
        with self._access():
            self._folder = Folder(spark, location)

    def has_offsets(self) -> bool:
        """Return whether a query has planned a batch, from which the next one continues.

        Raises:
            InvalidOptionError: the folder cannot be read.
        """
        with self._access():
            return bool(self._folder.names("offsets"))

    def query_id(self) -> str | None:
        """Return the id of the query, which Spark keeps when the query is restarted; None if the checkpoint is new.

        Raises:
            InvalidOptionError: the folder cannot be read.
        """
        text = self._read(_METADATA_FILE)
        try:
            return str(json.loads(text)["id"]) if text is not None else None
        except (ValueError, KeyError, TypeError):
            raise self._unusable(ValueError(f"its file '{_METADATA_FILE}' is damaged")) from None

    def check(self, fingerprint: Json, drops_missing_topics: bool = False) -> None:
        """Check that a query can resume from the checkpoint.

        Raises:
            CheckpointError: another query wrote the checkpoint, or its fingerprint cannot be read.
            InvalidOptionError: the folder cannot be read.
        """
        old = self.fingerprint() if self.has_offsets() else None
        change = describe_change(old, fingerprint, drops_missing_topics) if old is not None else None
        if change is not None:
            raise CheckpointError(
                f"INSERT INTO '{self._sink}': the query cannot resume from checkpoint '{self.location}', because "
                f"{change}. Run the statement as it was when it wrote the checkpoint, or start with a new checkpoint: "
                f"SET another '{settings.PIPELINE_NAME.key}' or '{settings.CHECKPOINT_DIR.key}'.",
                table=self._sink,
            )

    def record(self, fingerprint: Json) -> None:
        """Store the fingerprint of the query that is about to start.

        Raises:
            InvalidOptionError: the folder cannot be written.
        """
        with self._access():
            self._folder.write(FINGERPRINT_FILE, json.dumps(fingerprint, indent=1))

    def fingerprint(self) -> Json | None:
        """Return the stored fingerprint; None if the version that wrote the checkpoint stored none.

        Raises:
            CheckpointError: the fingerprint cannot be read.
            InvalidOptionError: the folder cannot be read.
        """
        text = self._read(FINGERPRINT_FILE)
        return parse_fingerprint(text, f"{self.location}/{FINGERPRINT_FILE}", self._sink) if text is not None else None

    def _read(self, name: str) -> str | None:
        with self._access():
            return self._folder.read(name)

    @contextmanager
    def _access(self) -> Iterator[None]:
        try:
            yield
        except JAVA_EXCEPTIONS as e:
            raise self._unusable(e) from None

    def _unusable(self, error: Exception) -> InvalidOptionError:
        reason = mask_message(error_message(error)).partition("\n")[0]
        return InvalidOptionError(
            f"INSERT INTO '{self._sink}': checkpoint folder '{self.location}' cannot be read or written: {reason}. Set "
            f"'{settings.CHECKPOINT_DIR.key}' to a folder that the driver can write.",
            option=settings.CHECKPOINT_DIR.key,
            table=self._sink,
        )


def parse_fingerprint(text: str, file: str, sink: str) -> Json:
    """Return a fingerprint that was stored as JSON.

    Raises:
        CheckpointError: the text is damaged, or of a later version.
    """
    try:
        fingerprint = json.loads(text)
        version = int(fingerprint["version"])
        complete = version > VERSION or {"sink", "sources", "operators"} <= fingerprint.keys()
    except (ValueError, KeyError, TypeError):
        complete = False
    if not complete:
        raise CheckpointError(
            f"INSERT INTO '{sink}': '{file}' is damaged, so it is unknown whether the query can resume from the "
            "checkpoint. If the statement has not changed, delete this file.",
            table=sink,
        )
    if version > VERSION:
        raise CheckpointError(
            f"INSERT INTO '{sink}': '{file}' has version {version}, and this version of kafka_sql supports {VERSION}. "
            "Use the version that wrote it.",
            table=sink,
        )
    return dict(fingerprint)


_FIELD_NAMES: Final = {
    "aggregates": "the aggregates",
    "columns": "the columns",
    "condition": "the join condition",
    "filters": "the filters of the rows",
    "grouping": "the grouping columns",
    "keys": "the columns",
    "limit": "the last rank",
    "left": "the columns of the join's first input",
    "order": "the order",
    "table": "the table",
    "right": "the columns of the join's second input",
    "type": "the join type",
    "window": "the window",
}


def describe_change(old: Json, new: Json, drops_missing_topics: bool = False) -> str | None:
    """Return how a query differs from the one of a checkpoint, or None if it can resume.

    Args:
        drops_missing_topics: whether the new query may stop reading topics ('scan.missing-topics' = 'ignore').
    """
    if not _is_same_table(old["sink"], new["sink"], False):
        return f"the sink changed from {_show_table(old['sink'])} to {_show_table(new['sink'])}"
    old_key, new_key = old["sink"].get("key"), new["sink"].get("key")
    if old_key != new_key:
        return f"the primary key of the sink changed from {_show(old_key)} to {_show(new_key)}"
    if len(old["sources"]) != len(new["sources"]):
        return f"the number of sources changed from {len(old['sources'])} to {len(new['sources'])}"
    for before, after in zip(old["sources"], new["sources"], strict=True):
        if not _is_same_table(before, after, drops_missing_topics):
            return f"a source changed from {_show_table(before)} to {_show_table(after)}"
    names = [[operator["operator"] for operator in query["operators"]] for query in (old, new)]
    if names[0] != names[1]:
        return f"the stateful operators changed from {_show(names[0])} to {_show(names[1])}"
    for before, after in zip(old["operators"], new["operators"], strict=True):
        for field in before:
            if before[field] != after.get(field):
                where = "" if before["operator"] in ("aggregation", "join") else f" of the {before['operator']}"
                return f"{_FIELD_NAMES[field]}{where} changed from {_show(before[field])} to {_show(after.get(field))}"
    return None


def _is_same_table(old: Json, new: Json, drops_missing_topics: bool) -> bool:
    """Return whether two sources, or two sinks, are the same; topics may have been added."""
    if "topics" in old and "topics" in new:
        before, after = set(old["topics"]), set(new["topics"])
        return bool(before & after) if drops_missing_topics else before <= after
    if ("streams" in old) != ("streams" in new):
        return False  # the offsets of a 'dynamic-kafka' table have the clusters of topics
    are_kafka_tables = all("topics" in table or "pattern" in table for table in (old, new))
    # with a pattern, the offsets in the checkpoint show the topics
    return are_kafka_tables or bool(old["name"] == new["name"])


def _show(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value or "none")


def _show_table(table: Json) -> str:
    topics = table.get("topics")
    if topics is None:
        return f"{table['name']} (topic pattern '{table['pattern']}')" if "pattern" in table else str(table["name"])
    return f"{table['name']} (topic '{', '.join(topics)}')"
