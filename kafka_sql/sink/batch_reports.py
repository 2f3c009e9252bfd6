"""What a batch has written, from the process that commits it to the one that observes the query.

Spark runs ``commit`` in a Python process of its own on the driver's machine, and takes nothing back from it. So the
figures of a query lie in a file, which the observer removes when the query starts and reads when Spark reports a batch.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.options import connector as opt
from kafka_sql.sink.write_stats import Figures, total

_LOG = logging.getLogger("kafka_sql.sink")


@dataclass(frozen=True)
class Report:
    """What a query has written.

    Attributes:
        batch: the number of its last batch.
        table: the sink's name.
        figures: summed over the tasks of all batches; the send time is the last one's.
        transactions: how many the tasks of the last batch had opened, all of which the batch has ended.
    """

    batch: int
    table: str
    figures: Figures
    transactions: int = 0


def streaming_task() -> tuple[str | None, int | None]:
    """The query and the batch that this task works for; None twice outside of a continuous query."""
    context = TaskContext.get()
    if context is None:
        return None, None
    query, batch = context.getLocalProperty("sql.streaming.queryId"), context.getLocalProperty("streaming.sql.batchId")
    return (query, int(batch)) if query and batch else (None, None)


def report(definition: Definition, messages: Iterable[Any]) -> None:
    """Tell what the tasks of a write have written; a batch INSERT's figures are logged only.

    Args:
        messages: the tasks', each with ``figures``, ``query`` and ``batch``; others are left out.
    """
    written = [m for m in messages if getattr(m, "figures", None) is not None]
    if not written or not definition.options[opt.REGISTER_PRODUCER_METRICS]:
        return
    figures = total(m.figures for m in written)
    _LOG.info("Table '%s': %s", definition.name, figures, extra={"table": definition.name})
    query, batch = written[0].query, written[0].batch
    if query is not None and batch is not None:
        transactions = sum(getattr(m, "transaction", None) is not None for m in written)
        before = last_report(query)
        if before is not None:
            figures = replace(total([before.figures, figures]), send_time=figures.send_time)
        _keep(query, Report(batch, definition.name, figures, transactions))


def last_report(query: str) -> Report | None:
    """What a query has reported; None where it has not yet."""
    path = _file(query)
    try:
        found = json.loads(path.read_text()) if _ours(path.parent) else None
    except (OSError, ValueError):  # not written yet
        return None
    return Report(**{**found, "figures": Figures(**found["figures"])}) if found else None


def forget(query: str) -> None:
    """Remove what a query has reported."""
    _file(query).unlink(missing_ok=True)


def _keep(query: str, made: Report) -> None:
    """Metrics never stop a write."""
    path = _file(query)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if _ours(path.parent):
            part = path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(asdict(made)))
            part.replace(path)
    except OSError:
        _LOG.warning("Metrics of table '%s' cannot be kept in %s", made.table, path, exc_info=True)


def _ours(folder: Path) -> bool:
    """Whether the folder is no other user's, who may write into the folder of all temporary files, too."""
    return folder.stat().st_uid == os.getuid()


def _file(query: str) -> Path:
    return Path(tempfile.gettempdir()) / f"kafka_sql-metrics-{os.getuid()}" / f"{query}.json"
