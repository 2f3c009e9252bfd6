"""Pass the write statistics of each micro-batch to the query's observer.

Spark runs ``commit`` in a separate Python process on the driver's machine and returns nothing from it. The statistics
of a query are therefore stored in a temporary file. The observer removes the file when the query starts and reads it
whenever Spark reports a batch.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.options import connector as opt
from kafka_sql.sink.write_stats import WriteStats, total_stats

_LOG = logging.getLogger("kafka_sql.sink")


@dataclass(frozen=True)
class Report:
    """Statistics of a query since it was started.

    Attributes:
        batch: id of its last micro-batch.
        table: the sink's name.
        stats: sum over all tasks of all batches; ``send_time`` is that of the last batch.
        transactions: number of transactions that the tasks of the last batch opened. The batch has ended all of them.
        rows_by_client: number of acknowledged records by the Kafka client that wrote them.
    """

    batch: int
    table: str
    stats: WriteStats
    transactions: int = 0
    rows_by_client: dict[str, int] = field(default_factory=dict)


def query_and_batch() -> tuple[str | None, int | None]:
    """Return the query id and batch id of the current task; None for both outside a streaming query."""
    context = TaskContext.get()
    if context is None:
        return None, None
    query, batch = context.getLocalProperty("sql.streaming.queryId"), context.getLocalProperty("streaming.sql.batchId")
    return (query, int(batch)) if query and batch else (None, None)


def report_batch(definition: Definition, messages: Iterable[Any]) -> None:
    """Log what the tasks of a write have written, and store it for the observer of a streaming query.

    Does nothing if 'register.producer.metrics' is false.

    Args:
        messages: the tasks' commit messages. Those without ``stats``, ``query`` and ``batch`` are ignored.
    """
    messages = [m for m in messages if getattr(m, "stats", None) is not None]
    if not messages or not definition.options[opt.REGISTER_PRODUCER_METRICS]:
        return
    stats = total_stats(m.stats for m in messages)
    _LOG.info("Table '%s': %s", definition.name, stats, extra={"table": definition.name})
    query, batch = messages[0].query, messages[0].batch
    if query is not None and batch is not None:
        transactions = sum(getattr(m, "transaction", None) is not None for m in messages)
        rows_by_client, previous = Counter[str](), last_report(query)
        if previous is not None:
            stats = replace(total_stats([previous.stats, stats]), send_time=stats.send_time)
            rows_by_client.update(previous.rows_by_client)
        for message in messages:
            rows_by_client[message.stats.client] += message.stats.rows
        non_zero = +rows_by_client
        _store(query, Report(batch, definition.name, stats, transactions, dict(non_zero)))


def last_report(query: str) -> Report | None:
    """Return the last report of a query; None if it has not reported yet."""
    path = _report_file(query)
    try:
        fields = json.loads(path.read_text()) if _is_owned_by_this_user(path.parent) else None
        return Report(**{**fields, "stats": WriteStats(**fields["stats"])}) if fields else None
    except (OSError, ValueError, LookupError, TypeError):  # not written yet, or by another version of this package
        return None


def remove_report(query: str) -> None:
    """Remove the stored report of a query."""
    path = _report_file(query)
    if path.parent.exists() and _is_owned_by_this_user(path.parent):
        path.unlink(missing_ok=True)


def _store(query: str, report: Report) -> None:
    """Store a report. A failure is logged: metrics must not stop a write."""
    path = _report_file(query)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if _is_owned_by_this_user(path.parent):
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(asdict(report)))
            temporary.replace(path)
    except OSError:
        _LOG.warning("Metrics of table '%s' could not be stored in %s", report.table, path, exc_info=True)


def _is_owned_by_this_user(folder: Path) -> bool:
    """Return whether this user owns the folder. Any user may create folders and links beside it."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _report_file(query: str) -> Path:
    return Path(tempfile.gettempdir()) / f"kafka_sql-metrics-{os.getuid()}" / f"{query}.json"
