"""Sum the write statistics of tasks, and pass those of each micro-batch to the query's observer.

Spark runs ``commit`` in a separate Python process on the driver's machine and returns nothing from it. The statistics
of a query are therefore stored in a temporary file. The observer removes the file when the query starts and reads it
whenever Spark reports a batch.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kafka_sql.definition import Definition
from kafka_sql.options import connector as opt
from kafka_sql.runtime.private_files import create_user_folder

_LOG = logging.getLogger("kafka_sql.sink")


@dataclass(frozen=True)
class WriteStats:
    """Statistics of a write by one task or several."""

    rows: int = 0  # number of acknowledged records
    bytes: int = 0  # size of their keys and values, before compression
    errors: int = 0  # number of broker errors that the client reported; it retries most of them
    send_time: float = 0  # milliseconds until the latest records were acknowledged (Flink's currentSendTime)
    client: str = ""  # the client that wrote; of several tasks, all that wrote: 'direct, librdkafka'


def total_stats(stats: Iterable[WriteStats]) -> WriteStats:
    """Return the sum of statistics; ``send_time`` is the maximum."""
    items = list(stats)
    return WriteStats(
        rows=sum(s.rows for s in items),
        bytes=sum(s.bytes for s in items),
        errors=sum(s.errors for s in items),
        send_time=max((s.send_time for s in items), default=0),
        client=", ".join(sorted({c for s in items if s.client for c in s.client.split(", ")})),
    )


@dataclass(frozen=True)
class Report:
    """Statistics of a query since it was started."""

    batch: int  # id of its last micro-batch
    table: str  # the sink's name
    stats: WriteStats  # sum over all tasks of all batches; ``send_time`` is that of the last batch
    # number of transactions that the tasks of the last batch opened. The batch has ended all of them.
    transactions: int = 0
    # number of acknowledged records by the Kafka client that wrote them
    rows_by_client: dict[str, int] = field(default_factory=dict)


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
        fields = json.loads(path.read_text()) if path is not None else None
        return Report(**{**fields, "stats": WriteStats(**fields["stats"])}) if fields else None
    except (OSError, ValueError, LookupError, TypeError):  # not written yet, or by another version of this package
        return None


def remove_report(query: str) -> None:
    """Remove the stored report of a query."""
    path = _report_file(query)
    if path is not None:
        path.unlink(missing_ok=True)


def _store(query: str, report: Report) -> None:
    """Store a report. A failure is logged: metrics must not stop a write."""
    path = _report_file(query)
    if path is None:
        folder = tempfile.gettempdir()
        _LOG.warning("Metrics of table '%s' could not be stored: no private folder in %s", report.table, folder)
        return
    try:
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(asdict(report)))
        temporary.replace(path)
    except OSError:
        _LOG.warning("Metrics of table '%s' could not be stored in %s", report.table, path, exc_info=True)


def _report_file(query: str) -> Path | None:
    """Return the file in a folder of this user; None if there cannot be one: any user may create links beside it."""
    folder = create_user_folder(tempfile.gettempdir())
    return Path(folder, f"metrics-{query}.json") if folder is not None else None
